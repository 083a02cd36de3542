from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.health.availability import Availability, availabilities, availability
from sluice.streams.health.health import Health
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from tests.twins.clock import START

HOUR = timedelta(hours=1)


def at(hours: float) -> timedelta:
    return HOUR * hours


def wish(hours: float, state: Desired = Desired.RUNNING) -> DesiredState:
    return DesiredState("flights", state, "ada", "so it is", START + at(hours))


def lived(generation: int, begin: float | None, end: float | None = None) -> Attempt:
    state = AttemptState.INTENT if begin is None else AttemptState.BOUND if end is None else AttemptState.ENDED
    bound, ended = (None if hours is None else START + at(hours) for hours in (begin, end))
    return Attempt("flights", generation, f"local.flights.g{generation}", state, START, bound, ended)


def judged(hours: float, health: Health, generation: int = 1, stream: str = "departures") -> RecordedVerdict:
    return RecordedVerdict("flights", stream, generation, Verdict(health, "So it is."), START + at(hours))


def of_ten_hours(wishes: list[DesiredState], attempts: list[Attempt], verdicts: list[RecordedVerdict]) -> Availability:
    return availability(wishes, attempts, verdicts, start=START, end=START + at(10))


FINE = [judged(0, Health.OK)]


def test_a_stream_that_works_all_the_time_is_available_all_the_time() -> None:
    found = of_ten_hours([wish(-1)], [lived(1, -1)], [judged(-1, Health.OK)])
    assert (found.percent, found.requested) == (100.0, at(10))


def test_a_stream_that_nobody_wanted_has_no_availability() -> None:
    assert of_ten_hours([], [], []).percent is None
    assert of_ten_hours([wish(-1, Desired.STOPPED)], [lived(1, -1)], FINE).percent is None


def test_a_stop_that_was_asked_for_is_not_counted() -> None:
    found = of_ten_hours([wish(0), wish(4, Desired.STOPPED), wish(9)], [lived(1, 0, 4), lived(2, 9)], FINE)
    assert found == Availability(available=at(4), unknown=at(1))  # of the second generation there is no verdict


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        (Health.OK, Availability(available=at(10))),
        (Health.IDLE, Availability(available=at(10))),
        (Health.LAGGING, Availability(available=at(10), lagging=at(10))),
        (Health.UNKNOWN, Availability(unknown=at(10))),
        (Health.STALLED, Availability(down=at(10))),
        (Health.STOPPED, Availability(down=at(10))),
        (Health.REWOUND, Availability(down=at(10))),
        (Health.LOSS_RISK, Availability(down=at(10))),
    ],
)
def test_what_each_verdict_counts_as(health: Health, expected: Availability) -> None:
    assert of_ten_hours([wish(0)], [lived(1, 0)], [judged(0, health)]) == expected


def test_a_dead_driver_is_down_whatever_its_last_verdict_was() -> None:
    found = of_ten_hours([wish(0)], [lived(1, 0, 3), lived(2, 5)], [*FINE, judged(5, Health.OK, 2)])
    assert (found.available, found.down, found.percent) == (at(8), at(2), 80.0)


def test_a_verdict_says_nothing_of_another_generation() -> None:
    found = of_ten_hours([wish(0)], [lived(1, 0, 3), lived(2, 3)], [*FINE, judged(4, Health.OK, 2)])
    assert (found.available, found.unknown) == (at(9), at(1))


def test_a_driver_that_was_never_confirmed_is_down() -> None:
    assert of_ten_hours([wish(0)], [lived(1, None)], []).down == at(10)


def test_streams_of_a_unit_are_told_apart_and_only_thirty_days_count() -> None:
    verdicts = [judged(0, Health.OK), judged(0, Health.STALLED, stream="raw_flights")]
    now = START + timedelta(days=100)
    found = availabilities([wish(0)], [lived(1, 0)], verdicts, streams=["departures", "raw_flights"], now=now)
    assert {stream: a.percent for stream, a in found.items()} == {"departures": 100.0, "raw_flights": 0.0}
    assert found["departures"].requested == timedelta(days=30)


hours = st.integers(-5, 15)
wishes = st.lists(st.builds(wish, hours, st.sampled_from(Desired)), max_size=5)
verdicts = st.lists(st.builds(judged, hours, st.sampled_from(Health), st.integers(1, 3)), max_size=8)
ends = st.one_of(st.none(), hours)
attempts = st.lists(ends, max_size=3).flatmap(
    lambda begins: st.tuples(*(st.builds(lived, st.just(n), st.just(b), ends) for n, b in enumerate(begins, 1))).map(
        list
    )
)


@given(wishes, attempts, verdicts)
def test_it_is_between_nothing_and_all_of_the_time(
    wishes: list[DesiredState], attempts: list[Attempt], verdicts: list[RecordedVerdict]
) -> None:
    found = of_ten_hours(wishes, attempts, verdicts)
    assert timedelta(0) <= found.lagging <= found.available <= found.requested <= at(10)
    if found.percent is not None and found.percent_unknown is not None:
        assert 0 <= found.percent <= 100
        assert 0 <= found.percent_unknown <= 100 - found.percent + 1e-9


@given(wishes, attempts, verdicts, st.integers(0, 600))
def test_splitting_a_span_changes_no_sum(
    wishes: list[DesiredState], attempts: list[Attempt], verdicts: list[RecordedVerdict], minutes: int
) -> None:
    middle = START + timedelta(minutes=minutes)
    first = availability(wishes, attempts, verdicts, start=START, end=middle)
    second = availability(wishes, attempts, verdicts, start=middle, end=START + at(10))
    assert first + second == of_ten_hours(wishes, attempts, verdicts)


@given(wishes, attempts, verdicts, st.randoms())
def test_the_order_of_records_changes_nothing(
    wishes: list[DesiredState],
    attempts: list[Attempt],
    verdicts: list[RecordedVerdict],
    random,  # type: ignore[no-untyped-def]  # noqa: ANN001 - Hypothesis's Random
) -> None:
    shuffled = [random.sample(records, len(records)) for records in (wishes, attempts, verdicts)]
    assert of_ten_hours(*shuffled) == of_ten_hours(wishes, attempts, verdicts)
