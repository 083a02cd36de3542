"""Three ways to judge a stream, at the same observations: ours, a fixed threshold, and Burrow's published rules."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from benchmarks.watching.verdict_world import BEGIN
from sluice.streams.health.health import FINE, Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.recording import RecordedVerdict, lagging_since, worth_recording
from sluice.streams.health.verdict import judge
from sluice.streams.health.window import Window

FINE_WORD, BLIND = "fine", "blind"


class Monitor(Protocol):
    """Says how a stream does: `FINE_WORD`, `BLIND` for an observation that shows nothing, or what is wrong."""

    @property
    def known(self) -> int:
        """The newest batch that need not be shown again."""
        ...

    def observe(self, seen: Observation) -> str:
        """Take in one observation."""
        ...


class Verdicts:
    """Ours, as the watcher gives them: a window in memory, and the newest verdict on record."""

    def __init__(self) -> None:
        self._window = Window()
        self._record: RecordedVerdict | None = None
        self._last: Health | None = None
        self._untold = False

    @property
    def known(self) -> int:
        """The newest batch of the window."""
        return self._window.newest

    def observe(self, seen: Observation) -> str:
        """Judge, and record what is worth it."""
        self._window = self._window.add(seen)
        verdict = judge(seen, self._window, lagging_since=lagging_since(self._record, 1))
        if worth_recording(self._record, verdict, 1, last=self._last, now=seen.at):
            self._record = RecordedVerdict("flights", "departures", 1, verdict, seen.at)
        # An observation that could not see is none, and the first one that saw all and cannot tell is not either.
        untold = verdict.health is Health.UNKNOWN and None not in (seen.driver, seen.committed, seen.ends)
        again, self._untold, self._last = self._untold and untold, untold, verdict.health
        if verdict.health in FINE:
            return FINE_WORD
        return BLIND if verdict.health is Health.UNKNOWN and not again else verdict.health.value


class Threshold:
    """Alarms while more records are unread than a person once thought to be too many."""

    def __init__(self, records: int = 300_000) -> None:
        self._records = records
        self.known = sys.maxsize  # it needs no batch

    def observe(self, seen: Observation) -> str:
        """Compare."""
        if seen.lag_records is None:
            return BLIND
        return "LAG" if seen.lag_records > self._records else FINE_WORD


@dataclass(frozen=True)
class _Commit:
    at: float
    offset: int
    lag: int


@dataclass
class Burrow:
    """Burrow's rules for one partition, from their published description, in their order; nothing of it is copied.

    The window has the last ten commits, each with the lag that there was when it was seen.
    """

    size: int = 10
    known: int = -1
    _commits: deque[_Commit] = field(default_factory=deque)
    _lags: deque[int] = field(default_factory=deque)  # at the last observations, as many as there are commits

    def observe(self, seen: Observation) -> str:
        """Take in the new commits and evaluate."""
        if seen.ends is None:
            return BLIND
        end = sum(seen.ends.values())
        for batch in reversed([batch for batch in seen.history if batch.batch_id > self.known]):
            offset = sum(batch.offsets.values())
            self._commits.append(_Commit((batch.committed_at - BEGIN).total_seconds(), offset, max(0, end - offset)))
            self.known = batch.batch_id
        self._lags.append(seen.lag_records or 0)
        for window in (self._commits, self._lags):
            while len(window) > self.size:
                window.popleft()
        return self._evaluate((seen.at - BEGIN).total_seconds(), seen.lag_records or 0)

    def _evaluate(self, now: float, lag: int) -> str:
        commits = list(self._commits)
        if lag == 0 or len(commits) < self.size:
            return FINE_WORD
        if now - commits[-1].at > commits[-1].at - commits[0].at and 0 not in self._lags:
            return "STOP"
        pairs = list(pairwise(commits))
        if any(later.offset < earlier.offset for earlier, later in pairs) and commits[-1].offset < commits[0].offset:
            return "REWIND"
        if any(commit.lag == 0 for commit in commits):
            return FINE_WORD
        if all(later.offset == earlier.offset for earlier, later in pairs):
            return "STALL"
        return "WARN" if all(later.lag >= earlier.lag for earlier, later in pairs) else FINE_WORD
