"""What a watcher saw last of each stream: what a page shows of a thousand streams without observing them itself.

A snapshot replaces the one before, unless it is older: several watchers may observe one stream. It is no history and
proves nothing; what is worth keeping is a recorded verdict, see `sluice.streams.health.recording`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.health import FINE, Health
from sluice.streams.health.pacing import PollRate
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window

FRESH = timedelta(minutes=3)
"""How long a snapshot is valid, unless they are kept less often: a stream is observed at least once a minute."""
_KEEP = PollRate(10.0, share=0.0007, most=300.0)
"""How often a snapshot is kept although it shows nothing new: a row costs as much as half of the snapshot itself."""

RATE_SPAN = timedelta(minutes=5)
"""Rates are means over this much of the past, or as much of it as is known."""


class Rates(NamedTuple):
    """Records per second over the last minutes; None where too little of the past is known.

    Attributes:
        arriving: what the broker took in.
        read: what batches that are committed have read.
    """

    arriving: float | None = None
    read: float | None = None


UNKNOWN_RATES = Rates()


@dataclass(frozen=True)
class DeadlineState:
    """Whether a stream misses one of its deadlines.

    Attributes:
        deadline: which.
        missed: None if it cannot be known.
        since: since when it is missed, at the latest, or met (UTC).
        why: one sentence with the observation and the limit.
        what_to_do: the next step if it is missed, and the verdict has none.
    """

    deadline: Deadline
    missed: bool | None
    since: datetime
    why: str
    what_to_do: str = ""


@dataclass(frozen=True)
class StreamSnapshot:
    """One snapshot of a stream.

    Attributes:
        unit: its driver's name in the specs.
        stream: its name.
        generation: of the unit's newest attempt.
        at: when it was observed (UTC).
        verdict: what was made of it, with the lags of its partitions.
        rates: how fast records come and are read.
        valid_for: by then there is another one, if the watcher still observes.
        since: since when its watcher has seen this health without a break (UTC); None: not known.
        deadlines: those of which it is certain whether they are missed.
    """

    unit: str
    stream: str
    generation: int
    at: datetime
    verdict: Verdict
    rates: Rates = UNKNOWN_RATES
    valid_for: timedelta = FRESH
    since: datetime | None = None
    deadlines: tuple[DeadlineState, ...] = ()

    @property
    def missed(self) -> tuple[Deadline, ...]:
        """The deadlines that are missed."""
        return tuple(state.deadline for state in self.deadlines if state.missed)

    def is_fresh(self, now: datetime) -> bool:
        """Whether a newer one need not exist yet. One from the future was made before the clock was set back."""
        return -FRESH <= now - self.at <= self.valid_for


class SnapshotStore(Protocol):
    """Keeps the newest snapshot of each stream. Both methods may raise UnreachableError."""

    def store(self, snapshots: Sequence[StreamSnapshot]) -> None:
        """Put snapshots in place of older ones of the same streams."""
        ...

    def of(self, units: Collection[str]) -> Mapping[str, Mapping[str, StreamSnapshot]]:
        """Return the newest snapshot of each stream of some units, by unit and stream, in a few queries."""
        ...


class SnapshotPolicy:
    """Decides which snapshots are kept. What is wrong or has changed always is, the rest as often as its cost allows.

    It may be forgotten at any time: then all are kept once more.
    """

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], tuple[datetime, Health, int, tuple[Deadline, ...]]] = {}
        self._seconds = _KEEP.seconds
        self._cost = 0.0

    @property
    def valid_for(self) -> timedelta:
        """How long a snapshot that is kept now is good for."""
        return max(FRESH, timedelta(seconds=2 * self._seconds))

    def due(self, snapshot: StreamSnapshot) -> bool:
        """Whether to keep a snapshot. It stays due until it was `stored`: the control database may not take it."""
        before = self._stored.get((snapshot.unit, snapshot.stream))
        if before is None or before[1:] != (snapshot.verdict.health, snapshot.generation, snapshot.missed):
            return True
        well = snapshot.verdict.health in FINE and not snapshot.missed
        elapsed = (snapshot.at - before[0]).total_seconds()  # less than 0: the clock was set back
        return not 0 <= elapsed < _NEARLY * (self._seconds if well else _KEEP.seconds)

    def stored(self, snapshots: Sequence[StreamSnapshot], cpu_seconds: float) -> None:
        """Note which snapshots were stored, and adapt to their cost. What one time alone has cost says nothing."""
        for snapshot in snapshots:
            shown = (snapshot.at, snapshot.verdict.health, snapshot.generation, snapshot.missed)
            self._stored[snapshot.unit, snapshot.stream] = shown
        if snapshots:
            before, self._cost = self._cost, cpu_seconds / len(snapshots)
            self._seconds = _KEEP.period(min(before, self._cost) * len(self._stored))


_NEARLY = 0.9
"""Of a period: a snapshot that comes a moment early must not make it wait for the next one."""


def rates_of(window: Window, now: datetime) -> Rates:
    """Return how fast records came and were read of late."""
    until = now.timestamp()
    since = until - RATE_SPAN.total_seconds()
    samples, batches = window.samples, window.batches
    heard, committed = samples.column(0), batches.column(2)
    arriving = _per_second(heard, samples.column(1), since, heard[-1]) if len(samples) > 1 else None
    read = _per_second(committed, batches.column(3), since, until) if len(batches) > 1 else None
    return Rates(arriving, read)


def _per_second(at: Sequence[float], count: Sequence[float], since: float, until: float) -> float | None:
    """Return how fast a count grew; what is not known before `since` is left out."""
    first = max(bisect_right(at, since) - 1, 0)
    seconds = until - max(at[first], since)
    return max(0.0, count[-1] - count[first]) / seconds if seconds > 0 else None
