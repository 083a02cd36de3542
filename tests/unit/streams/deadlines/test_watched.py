from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.model.deadlines import Deadline, StreamDeadlines
from sluice.streams.deadlines.watched import DeadlinesWatched, Streak
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.recording import DWELL
from sluice.streams.health.snapshots import DeadlineState
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window
from tests.twins.clock import START
from tests.twins.observations import observed, steadily

LATE = StreamDeadlines(lag=timedelta(minutes=10), loss_risk=None)
MISSED = DeadlineState(Deadline.LAG, True, START, "It is late.")
MET = replace(MISSED, missed=False, why="It is not late.")
UNKNOWN = replace(MISSED, missed=None)


class Change(StrEnum):
    """What an alert would say: its beginning, or its end."""

    MISSED = "missed"
    MET = "met again"


def after(before: Streak | None, state: DeadlineState, seconds: float) -> Streak:
    streak = Streak.after(before, state, START + timedelta(seconds=seconds))
    assert streak is not None
    return streak


def test_one_observation_proves_nothing() -> None:
    first = after(None, MISSED, 0)
    assert first.certain is None
    assert after(first, MISSED, 10).certain == MISSED


def test_what_is_met_is_certain_after_five_minutes_and_missed_until_then() -> None:
    streak = after(after(None, MISSED, 0), MISSED, 10)
    for seconds in range(20, 320, 10):
        streak = after(streak, MET, seconds)
        assert streak.certain == MISSED, seconds
    certain = after(streak, MET, 20 + DWELL.total_seconds()).certain
    assert certain == replace(MET, since=START + timedelta(seconds=20))


def test_an_observation_that_knows_nothing_neither_adds_to_a_streak_nor_ends_it() -> None:
    streak = after(None, MISSED, 0)
    assert Streak.after(streak, UNKNOWN, START) == streak
    assert Streak.after(None, UNKNOWN, START) is None
    assert after(streak, MISSED, 86_400).count == 2
    assert after(streak, MET, 86_400).count == 1


class Observed:
    """What is observed of one stream by its watchers, and the alerts that follow from the newest observation."""

    def __init__(self) -> None:
        self.alerting = False

    def changes(self, certain: tuple[DeadlineState, ...]) -> list[Change]:
        """Return what a round would send."""
        if any(state.missed != self.alerting for state in certain):
            self.alerting = not self.alerting
            return [Change.MISSED if self.alerting else Change.MET]
        return []


class Watching:
    """A watcher of one stream."""

    def __init__(self, observed: Observed | None = None) -> None:
        self.observed = observed or Observed()
        self.watched = DeadlinesWatched()

    def see(self, at: float, waits: float | None) -> list[Change]:
        seen: dict[str, Observation] = {"departures": observed(at, steadily(3), 2_000)}
        records = None if waits is None else 200 if waits else 0
        verdict = Verdict(Health.OK, "It works.", lag_records=records, lag_seconds=waits)
        self.watched.observe({"departures": LATE}, seen, {"departures": verdict}, {"departures": Window()})
        return self.observed.changes(self.watched.certain["departures"])


def test_a_miss_begins_once_and_ends_once() -> None:
    watching = Watching()
    changes = [(at, c) for at in range(0, 3_000, 10) for c in watching.see(at, 900.0 if 100 <= at < 1_000 else 0.0)]
    assert changes == [(110, Change.MISSED), (1_000 + 300, Change.MET)]
    (state,) = watching.watched.certain["departures"]
    assert (state.missed, state.since) == (False, START + timedelta(seconds=1_000))


def test_a_miss_that_lasted_for_two_observations_ends_like_any_other() -> None:
    watching = Watching()
    changes = [(at, c) for at in range(0, 400, 10) for c in watching.see(at, 900.0 if at <= 10 else 0.0)]
    assert changes == [(10, Change.MISSED), (320, Change.MET)]


@pytest.mark.parametrize("what", ["nobody observed", "nothing was known"])
def test_a_gap_does_not_count_for_a_deadline_that_is_met_again(what: str) -> None:
    watching = Watching()
    assert [c for at in (0, 10) for c in watching.see(at, 900.0)] == [Change.MISSED]
    seen: list[tuple[int, float | None]] = [(20, 0.0)]
    if what == "nothing was known":
        seen += [(at, None) for at in range(30, 600, 10)]
    seen += [(at, 0.0) for at in range(600, 1000, 10)]
    assert [(at, c) for at, waits in seen for c in watching.see(at, waits)] == [(900, Change.MET)]


def test_a_clock_that_was_set_back_restarts_the_five_minutes() -> None:
    watching = Watching()
    assert [c for at in (7200, 7210, 7220) for c in watching.see(at, 900.0 if at < 7220 else 0.0)] == [Change.MISSED]
    assert [(at, c) for at in range(0, 400, 10) for c in watching.see(at, 0.0)] == [(300, Change.MET)]


def test_what_comes_and_goes_is_one_miss() -> None:
    watching = Watching()
    changes = [c for at in range(0, 9_000, 10) for c in watching.see(at, 900.0 if at % 240 < 120 else 0.0)]
    assert changes == [Change.MISSED]


def test_of_two_watchers_the_second_changes_nothing() -> None:
    observed = Observed()
    one, other = Watching(observed), Watching(observed)
    pairs = [(one.see(at, 900.0), other.see(at, 900.0)) for at in range(0, 60, 10)]
    assert [pair for pair in pairs if any(pair)] == [([Change.MISSED], [])]


def test_a_triggerer_that_starts_again_repeats_nothing_and_ends_what_it_finds() -> None:
    observed = Observed()
    before, later = Watching(observed), Watching(observed)
    assert [c for at in (0, 10) for c in before.see(at, 900.0)] == [Change.MISSED]
    assert [c for at in range(20, 500, 10) for c in later.see(at, 900.0 if at < 100 else 0.0)] == [Change.MET]


def test_while_a_state_cannot_be_known_none_is_certain() -> None:
    watching = Watching()
    assert [c for at in (0, 10) for c in watching.see(at, 900.0)] == [Change.MISSED]
    for at in range(20, 200_000, 1_000):
        assert watching.see(at, None) == []
        assert watching.watched.certain["departures"] == ()


@given(st.lists(st.sampled_from([0.0, 900.0, None]), max_size=300), st.integers(1, 3))
def test_misses_and_ends_alternate_whatever_is_seen_by_however_many(waits: list[float | None], watchers: int) -> None:
    observed = Observed()
    crew = [Watching(observed) for _ in range(watchers)]
    changes = [c for n, w in enumerate(waits) for watching in crew for c in watching.see(n * 10.0, w)]
    assert changes == [Change.MISSED if n % 2 == 0 else Change.MET for n in range(len(changes))]
