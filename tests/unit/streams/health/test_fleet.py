from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.catalog.catalog import Unit
from sluice.specs.model.deadlines import Deadline
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.fleet import StreamStatus, UnitRecords, stream_statuses
from sluice.streams.health.health import Health, same_health
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.health.snapshots import FRESH, DeadlineState, Rates, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from tests.twins.clock import START

UNIT = Unit("flights", ("flights",), ("departures",))
WISH = DesiredState("flights", Desired.RUNNING, "ada", "launch", START - timedelta(days=2))
STOP = replace(WISH, state=Desired.STOPPED, by="grace", why="new brokers", at=START)
LIVES = Attempt("flights", 1, "local.flights.g1", AttemptState.BOUND, START - timedelta(days=1), START)
DEAD = replace(
    LIVES,
    state=AttemptState.ENDED,
    ended_at=START,
    exit_code=1,
    reason="ended with exit code 1",
    failure=FailureClass.CORRUPT,
)


def seen(stream: str, health: Health = Health.OK, *, at: datetime = START, generation: int = 1) -> StreamSnapshot:
    verdict = Verdict(health, "As seen.", lag_records=7, lag_seconds=3.0)
    return StreamSnapshot("flights", stream, generation, at, verdict, Rates(1.0, 2.0))


def records(
    attempts: Sequence[Attempt] = (LIVES,), wish: DesiredState | None = WISH, **more: StreamSnapshot
) -> UnitRecords:
    return UnitRecords(wish, attempts, more)


def standing(found: UnitRecords, *, now: datetime = START) -> StreamStatus:
    (_, departures) = stream_statuses(UNIT, found, now)
    assert departures.stream == "departures"
    return departures


def test_a_fresh_observation_is_what_holds() -> None:
    snapshot = seen("departures", Health.LAGGING)
    found = standing(records(departures=snapshot))
    assert (found.verdict, found.snapshot, found.needs_attention) == (snapshot.verdict, snapshot, True)


def test_what_nobody_has_observed_lately_is_unknown_whatever_it_was() -> None:
    found = standing(records(departures=seen("departures")), now=START + FRESH + timedelta(seconds=1))
    assert found.verdict.health is Health.UNKNOWN
    assert found.verdict.why == "It was OK when it was last observed, 3 min 01 s ago."
    assert found.verdict.lag_records == 7
    assert found.needs_attention


def test_deadlines_are_known_while_a_fresh_observation_is_at_a_stream_that_runs() -> None:
    late = DeadlineState(Deadline.LAG, True, START, "It is late.")
    snapshot = replace(seen("departures"), deadlines=(late,))
    assert standing(records(departures=snapshot)).deadlines == (late,)
    assert standing(records(departures=snapshot), now=START + FRESH + timedelta(seconds=1)).deadlines == ()
    assert standing(records([DEAD], departures=snapshot)).deadlines == ()


def test_its_last_commit_counts_whichever_attempt_made_it_and_a_later_wish_does_too() -> None:
    commit = START - timedelta(hours=3)
    snapshot = seen("departures")
    snapshot = replace(snapshot, verdict=replace(snapshot.verdict, committed_at=commit))
    attempts = [replace(DEAD, generation=number, key=f"g{number}") for number in (3, 2, 1)]
    assert standing(records(attempts, departures=snapshot)).last_at_work == commit
    assert standing(records(attempts)).last_at_work == WISH.at
    again = replace(WISH, at=START - timedelta(hours=1))
    assert standing(records(attempts, again, departures=snapshot)).last_at_work == again.at
    assert standing(records(attempts, None)).last_at_work is None


@pytest.mark.parametrize("failure", FailureClass)
def test_only_an_end_by_records_that_are_gone_is_a_loss(failure: FailureClass) -> None:
    lost = failure is FailureClass.DATA_LOSS
    assert standing(records([replace(DEAD, failure=failure)])).has_lost is lost
    second = replace(LIVES, generation=2, key="local.flights.g2")
    assert not standing(records([second, replace(DEAD, failure=failure)])).has_lost


def test_an_observation_of_an_earlier_attempt_says_nothing_of_this_one() -> None:
    second = replace(LIVES, generation=2, key="local.flights.g2")
    found = standing(records([second, DEAD], departures=seen("departures")))
    assert (found.verdict.health, found.snapshot, found.generation) == (Health.UNKNOWN, None, 2)


def test_an_end_on_record_overrules_what_was_seen_before_it() -> None:
    found = standing(records([DEAD], departures=seen("departures")), now=START + timedelta(minutes=5))
    assert found.verdict.health is Health.STOPPED
    assert found.verdict.why.startswith("It ended 5 min 00 s ago and is HALTED: generation 1 ended with exit code 1")
    assert found.verdict.what_to_do.endswith("`sluice streams resume flights`.")
    assert found.halted
    assert found.verdict.lag_records == 7


def test_a_crash_that_is_followed_by_itself_says_when() -> None:
    crashed = replace(DEAD, failure=FailureClass.CODE)
    found = standing(records([crashed]), now=START + timedelta(seconds=2))
    assert "the next starts at" in found.verdict.why
    assert (found.halted, found.needs_attention) == ("", True)
    later = standing(records([crashed]), now=START + timedelta(hours=1))
    assert "reconcile_streams" in later.verdict.what_to_do


@pytest.mark.parametrize("attempts", [[DEAD], []])
def test_what_somebody_stopped_needs_nobody(attempts: list[Attempt]) -> None:
    found = standing(records(attempts, STOP))
    assert (found.verdict.health, found.verdict.why) == (Health.STOPPED, "grace stopped it: new brokers.")
    assert not found.needs_attention


def test_what_nobody_ever_asked_for_needs_nobody_and_what_was_never_started_does() -> None:
    assert not standing(records([], None)).needs_attention
    assert standing(records([])).needs_attention
    assert standing(records([])).verdict.health is Health.STOPPED


def test_restarts_of_the_last_day_are_counted_and_the_first_start_is_none() -> None:
    attempts = [
        replace(LIVES, generation=n, key=f"local.flights.g{n}", intended_at=START - timedelta(hours=ago))
        for n, ago in ((4, 1), (3, 2), (2, 25))
    ]
    assert standing(records(attempts)).restarts == 2
    assert standing(records([LIVES])).restarts == 0


def test_since_when_is_known_if_the_same_health_is_on_record() -> None:
    at = START - timedelta(hours=2)
    kept = RecordedVerdict("flights", "departures", 1, Verdict(Health.OK, "It works."), at)
    observed = records(departures=seen("departures"))
    assert standing(replace(observed, verdicts={"departures": kept})).since == at
    other = replace(kept, verdict=Verdict(Health.STALLED, "It stands."))
    assert standing(replace(observed, verdicts={"departures": other})).since == START, "as far as the observation tells"
    of_the_last = replace(kept, generation=0)
    assert standing(replace(observed, verdicts={"departures": of_the_last})).since == START
    idle = replace(kept, verdict=Verdict(Health.IDLE, "It rests."))
    assert standing(replace(observed, verdicts={"departures": idle})).since == at


@given(
    health=st.sampled_from(Health),
    was=st.sampled_from(Health),
    observed=st.integers(-7200, 7200),
    held=st.none() | st.integers(0, 7200),
    recorded=st.integers(-9000, 7200),
)
def test_no_verdict_is_said_to_hold_since_before_an_observation_that_says_otherwise(
    health: Health, was: Health, observed: int, held: int | None, recorded: int
) -> None:
    """In whatever order looks and records are kept, and wherever the clock jumps."""
    at = START + timedelta(seconds=observed)
    snapshot = replace(seen("departures", health, at=at), since=None if held is None else at - timedelta(seconds=held))
    kept = RecordedVerdict("flights", "departures", 1, Verdict(was, ""), START + timedelta(seconds=recorded))
    found = standing(replace(records(departures=snapshot), verdicts={"departures": kept}))
    assert found.since is not None
    if not same_health(found.verdict.health, health):
        assert found.verdict.health is Health.UNKNOWN
        assert found.since >= at
    if not same_health(found.verdict.health, was) and kept.at <= START:
        assert found.since >= min(kept.at, snapshot.since or at)


def test_those_come_first_who_need_somebody_most() -> None:
    def one(name: str, health: Health, *, halted: str = "", wanted: bool = True, lag: float = 0.0) -> StreamStatus:
        return StreamStatus("u", name, Verdict(health, "", lag_seconds=lag), None, None, halted, wanted, 0, 1)

    order = [
        one("halted", Health.STOPPED, halted="why"),
        one("loses", Health.LOSS_RISK),
        one("rewound", Health.REWOUND),
        one("stalled", Health.STALLED),
        one("died", Health.STOPPED),
        one("unknown", Health.UNKNOWN),
        one("far", Health.LAGGING, lag=90),
        one("near", Health.LAGGING, lag=5),
        one("at_rest", Health.STOPPED, wanted=False),
        one("fine", Health.OK),
        one("idle", Health.IDLE),
    ]
    mixed = sorted(order, key=lambda each: each.stream)
    assert [each.stream for each in sorted(mixed, key=lambda each: each.urgency)] == [each.stream for each in order]
