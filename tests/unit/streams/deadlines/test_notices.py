from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.model.deadlines import StreamDeadlines
from sluice.streams.deadlines.notices import TOLD_AGAIN_AFTER, DeadlinesWatched, Notice, Occasion, Streak, occasion_of
from sluice.streams.deadlines.record import Deadline, DeadlineRecord
from sluice.streams.health.observation import Evidence
from sluice.streams.health.recording import DWELL
from sluice.streams.health.verdict import Health, Verdict
from sluice.streams.health.window import Window
from tests.twins.clock import START, ManualClock
from tests.twins.looks import look, steadily
from tests.twins.registry import InMemoryRegistry

DAY = timedelta(days=1)
LATE = StreamDeadlines(lag=timedelta(minutes=10), loss_risk=None)
MISSED = DeadlineRecord(
    "flights", "departures", Deadline.LAG, 2, missed=True, since=START, claimed_at=START, told_at=START
)
MET = replace(MISSED, missed=False)


def streak(missed: bool, looks: int = 9) -> Streak:
    return Streak(missed, looks, START)


@pytest.mark.parametrize(
    ("record", "seen", "after", "expected"),
    [
        (None, streak(False), DAY * 9, None),
        (None, streak(True, 1), timedelta(0), None),  # one look proves nothing
        (None, streak(True, 2), timedelta(0), Occasion.MISSED),
        (MET, streak(True, 2), timedelta(0), Occasion.MISSED),
        (MISSED, streak(True), DAY - timedelta(seconds=1), None),
        (MISSED, streak(True), DAY, Occasion.STILL_MISSED),
        (MISSED, streak(False), DWELL - timedelta(seconds=1), None),
        (MISSED, streak(False), DWELL, Occasion.MET),
        (MET, streak(False), DAY * 9, None),
        (replace(MISSED, told_at=None), streak(True), TOLD_AGAIN_AFTER - timedelta(seconds=1), None),
        (replace(MISSED, told_at=None), streak(True), TOLD_AGAIN_AFTER, Occasion.MISSED),
        (replace(MET, told_at=None), streak(False), TOLD_AGAIN_AFTER, Occasion.MET),
    ],
)
def test_when_something_is_told(
    record: DeadlineRecord | None, seen: Streak, after: timedelta, expected: Occasion | None
) -> None:
    assert occasion_of(record, seen, now=START + after, remind=DAY) is expected


def test_nobody_is_reminded_who_does_not_want_it() -> None:
    assert occasion_of(MISSED, streak(True), now=START + DAY * 99, remind=None) is None


def test_a_look_that_knows_nothing_neither_adds_to_a_streak_nor_ends_it() -> None:
    assert Streak.after(streak(True), None, START + DAY) == streak(True)
    assert Streak.after(None, None, START) is None
    assert Streak.after(streak(True, 1), True, START + DAY) == replace(streak(True, 2), last=START + DAY)
    assert Streak.after(streak(True), False, START + DAY) == Streak(False, 1, START + DAY)


def test_the_end_of_a_miss_that_lasted_for_two_looks_is_told(registry: InMemoryRegistry) -> None:
    watching = Watching(registry)
    told = [o for at in range(0, 400, 10) for o in watching.tell(at, 900.0 if at <= 10 else 0.0)]
    assert told == [Occasion.MISSED, Occasion.MET]


@pytest.mark.parametrize("what", ["nobody looked", "nothing was known"])
def test_a_gap_does_not_count_for_a_deadline_that_is_met_again(registry: InMemoryRegistry, what: str) -> None:
    watching = Watching(registry)
    assert [o for at in (0, 10) for o in watching.tell(at, 900.0)] == [Occasion.MISSED]
    seen: list[tuple[int, float | None]] = [(20, 0.0)]
    if what == "nothing was known":
        seen += [(at, None) for at in range(30, 600, 10)]
    seen += [(at, 0.0) for at in range(600, 1000, 10)]
    told = [(at, o) for at, waits in seen for o in watching.tell(at, waits)]
    assert told == [(900, Occasion.MET)]


def test_a_claim_from_before_the_clock_was_set_back_is_nobodys_any_more() -> None:
    ahead = replace(MISSED, told_at=None, claimed_at=START + timedelta(hours=3))
    assert occasion_of(ahead, streak(True), now=START, remind=DAY) is Occasion.MISSED


def test_a_clock_that_was_set_back_begins_the_five_minutes_anew(registry: InMemoryRegistry) -> None:
    watching = Watching(registry)
    assert [o for at in (7200, 7210, 7220) for o in watching.tell(at, 900.0 if at < 7220 else 0.0)] == [Occasion.MISSED]
    assert [(at, o) for at in range(0, 400, 10) for o in watching.tell(at, 0.0)] == [(300, Occasion.MET)]


class Watching:
    """A watcher of one stream, and the control database that it shares with others."""

    def __init__(self, registry: InMemoryRegistry) -> None:
        self.registry = registry
        self.watched = DeadlinesWatched()

    def see(self, at: float, waits: float | None, declared: StreamDeadlines = LATE) -> Iterator[Notice]:
        seen: dict[str, Evidence] = {"departures": look(at, steadily(3), 2_000)}
        records = None if waits is None else 200 if waits else 0
        verdict = Verdict(Health.OK, "It works.", lag_records=records, lag_seconds=waits)
        names = {"departures": declared}
        return self.watched.notices(names, seen, {"departures": verdict}, {"departures": Window()}, self.registry)

    def tell(self, at: float, waits: float | None) -> list[Occasion]:
        """Look, and tell all that is to be told."""
        told = []
        for notice in list(self.see(at, waits)):
            claim = notice.claim(START + timedelta(seconds=at))
            if self.registry.replace_deadline_record(claim):
                told.append(notice.occasion)
                assert self.registry.replace_deadline_record(claim.told(claim.claimed_at))
        return told


@pytest.fixture
def registry() -> InMemoryRegistry:
    return InMemoryRegistry(ManualClock())


def test_a_miss_is_told_once_and_its_end_once(registry: InMemoryRegistry) -> None:
    watching = Watching(registry)
    told = [(at, o) for at in range(0, 3_000, 10) for o in watching.tell(at, 900.0 if 100 <= at < 1_000 else 0.0)]
    assert told == [(110, Occasion.MISSED), (1_000 + 300, Occasion.MET)]
    (record,) = registry.deadline_records("flights")
    assert (record.missed, record.since) == (False, START + timedelta(seconds=1_000))


def test_what_comes_and_goes_is_one_miss(registry: InMemoryRegistry) -> None:
    watching = Watching(registry)
    told = [o for at in range(0, 9_000, 10) for o in watching.tell(at, 900.0 if at % 240 < 120 else 0.0)]
    assert told == [Occasion.MISSED]


def test_of_two_watchers_the_second_tells_nothing(registry: InMemoryRegistry) -> None:
    one, other = Watching(registry), Watching(registry)
    pairs = [(one.tell(at, 900.0), other.tell(at, 900.0)) for at in range(0, 60, 10)]
    assert [pair for pair in pairs if any(pair)] == [([Occasion.MISSED], [])]


def test_of_two_that_have_seen_the_same_record_one_gets_the_claim(registry: InMemoryRegistry) -> None:
    one, other = Watching(registry), Watching(registry)
    found = [list(watching.see(at, 900.0)) for at in (0, 10) for watching in (one, other)]
    claims = [notice.claim(START) for notices in found for notice in notices]
    assert len(claims) == 2
    assert [registry.replace_deadline_record(claim) for claim in claims] == [True, False]


def test_a_triggerer_that_starts_again_tells_nothing_twice_and_ends_what_it_finds(registry: InMemoryRegistry) -> None:
    before, after = Watching(registry), Watching(registry)
    assert [o for at in (0, 10) for o in before.tell(at, 900.0)] == [Occasion.MISSED]
    assert [o for at in range(20, 500, 10) for o in after.tell(at, 900.0 if at < 100 else 0.0)] == [Occasion.MET]


def test_what_cannot_be_known_is_not_told(registry: InMemoryRegistry) -> None:
    watching = Watching(registry)
    assert [o for at in (0, 10) for o in watching.tell(at, 900.0)] == [Occasion.MISSED]
    assert [o for at in range(20, 200_000, 1_000) for o in watching.tell(at, None)] == []


def test_the_control_database_is_asked_only_when_there_is_something_to_know() -> None:
    class Counting(InMemoryRegistry):
        asked = 0

        def deadline_records(self, unit: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - the twin's
            self.asked += 1
            return super().deadline_records(unit)

    counting = Counting(ManualClock())
    watching = Watching(counting)
    for at in range(0, 100, 10):
        watching.tell(at, 0.0)
    assert counting.asked == 1


@given(st.lists(st.sampled_from([0.0, 900.0, None]), max_size=300), st.integers(1, 3))
def test_misses_and_ends_alternate_whatever_is_seen_by_however_many(waits: list[float | None], watchers: int) -> None:
    registry = InMemoryRegistry(ManualClock())
    crew = [Watching(registry) for _ in range(watchers)]
    told = [o for n, w in enumerate(waits) for watching in crew for o in watching.tell(n * 10.0, w)]
    assert told == [Occasion.MISSED if n % 2 == 0 else Occasion.MET for n in range(len(told))]
