"""When it is certain that a deadline is missed, or met again.

* It is missed when two observations in a row agree on it.
* It is met again when it was met for five minutes without a break. Time without an observation, or in which nothing
  could be known, does not count.
* In between, the last certain state holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.specs.model.deadlines import Deadline, StreamDeadlines
from sluice.streams.deadlines.deadlines import examine
from sluice.streams.health.observation import Observation
from sluice.streams.health.recording import DWELL
from sluice.streams.health.snapshots import FRESH, DeadlineState
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window

CONFIRMING_OBSERVATIONS = 2


@dataclass(frozen=True)
class Streak:
    """Observations in a row that agree on a deadline.

    Attributes:
        missed: what they say.
        count: how many they are.
        since: when the first one was (UTC).
        last: when the newest one was (UTC).
        certain: the state that holds; None: none is certain yet.
    """

    missed: bool
    count: int
    since: datetime
    last: datetime
    certain: DeadlineState | None = None

    @classmethod
    def after(cls, before: Streak | None, state: DeadlineState, at: datetime) -> Streak | None:
        """Return the streak with one more observation. One that knows nothing neither adds to it nor ends it.

        A gap, or a clock that was set back, restarts a streak of observations that say it is met.
        """
        if state.missed is None:
            return before
        certain = None if before is None else before.certain
        streak = cls(state.missed, 1, at, at, certain)
        same = before is not None and before.missed == state.missed
        if before is not None and same and (state.missed or timedelta() <= at - before.last <= FRESH):
            streak = replace(before, count=before.count + 1, last=at)
        if streak.missed and streak.count >= CONFIRMING_OBSERVATIONS:
            return replace(streak, certain=state)
        if not streak.missed and at - streak.since >= DWELL:
            return replace(streak, certain=replace(state, since=streak.since))
        return streak


class DeadlinesWatched:
    """What a watcher remembers of the deadlines of one unit's streams. If it forgets, certainty comes later."""

    def __init__(self) -> None:
        self._streaks: dict[tuple[str, Deadline], Streak] = {}
        self.certain: Mapping[str, tuple[DeadlineState, ...]] = {}
        """By stream, the deadlines of which it is certain whether they are missed, by the newest observation."""

    def observe(
        self,
        declared: Mapping[str, StreamDeadlines],
        seen: Mapping[str, Observation],
        verdicts: Mapping[str, Verdict],
        windows: Mapping[str, Window],
    ) -> None:
        """Take in one observation by stream; streams that are not in it are forgotten."""
        streaks: dict[tuple[str, Deadline], Streak] = {}
        certain: dict[str, tuple[DeadlineState, ...]] = {}
        for stream, evidence in seen.items():
            known = []
            for deadline, state in examine(declared[stream], evidence, verdicts[stream], windows[stream]).items():
                streak = Streak.after(self._streaks.get((stream, deadline)), state, evidence.at)
                if streak is not None:
                    streaks[stream, deadline] = streak
                    if streak.certain is not None and state.missed is not None:
                        known.append(streak.certain)
            certain[stream] = tuple(known)
        self._streaks, self.certain = streaks, certain
