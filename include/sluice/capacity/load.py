"""What the log of batches says of a driver's load: windows of time for its cost, batches for their length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from sluice.capacity.fitting import FitSample
from sluice.streams.health.batch_log import BatchFigures, runs

WARM_UP = timedelta(seconds=60)
"""Of a driver's first batches: Java compiles its code then, which it does once."""
WINDOW = timedelta(seconds=10)
"""The least length of a window: several batches, so that what other streams do meanwhile evens out."""
_REST = 3
"""A window so many times as long as most had a rest in it, when nothing came: it says nothing of work."""


@dataclass(frozen=True)
class LoadWindow:
    """What a driver did in a time.

    Attributes:
        begin: when it began (UTC).
        seconds: how long it was.
        cpu_seconds: of the driver and all below it, and the task time of its executors.
        records: that the pipeline's own stream read.
        batches: of all its streams.
    """

    begin: datetime
    seconds: float
    cpu_seconds: float
    records: int
    batches: int

    @property
    def end(self) -> datetime:
        """When it ended (UTC)."""
        return self.begin + timedelta(seconds=self.seconds)

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    def as_sample(self) -> FitSample:
        """Return its CPU seconds by seconds and records."""
        return FitSample(self.seconds, self.records, self.cpu_seconds)


@dataclass(frozen=True)
class BatchTime:
    """How long one batch took."""

    records: int
    seconds: float

    def as_sample(self) -> FitSample:
        """Return its seconds by records."""
        return FitSample(1, self.records, self.seconds)


def load_windows(
    logs: Mapping[str, Sequence[BatchFigures]],
    stream: str,
    *,
    beside: Sequence[str] = (),
    warm_up: timedelta = WARM_UP,
    window: timedelta = WINDOW,
) -> Sequence[LoadWindow]:
    """Return the windows of all generations on record, oldest first.

    Args:
        logs: the batches of each stream of a driver, oldest first.
        stream: whose records count, and whose batches the windows begin and end with.
        beside: further streams whose records count: of other topics.
        warm_up: what is left out of each generation's begin.
        window: the least length of one.
    """
    found = list[LoadWindow]()
    for run in runs(logs[stream]):
        others = [_reads(logs[name], run[0].generation) for name in beside]
        for each in _windows(run, logs, warm_up, window):
            further = sum(other.between(each.begin, each.end) for other in others)
            found.append(replace(each, records=each.records + further))
    longest = _REST * median(each.seconds for each in found) if found else 0.0
    return [each for each in found if each.seconds <= longest]


def _windows(
    run: Sequence[BatchFigures], logs: Mapping[str, Sequence[BatchFigures]], warm_up: timedelta, window: timedelta
) -> Iterator[LoadWindow]:
    own = [batch for log in logs.values() for batch in log if batch.generation == run[0].generation]
    warm = min(batch.at for batch in own) + warm_up
    numbers = [_numbers(log, run[0].generation) for log in logs.values()]
    first: BatchFigures | None = None
    for batch in run:
        if batch.cpu_seconds is None or batch.read is None or batch.at < warm:
            continue
        if first is None:
            first = batch
            continue
        begin, end = first.at, batch.at  # a batch has what was there when it was planned
        if end - begin < window:
            continue
        cpu = batch.cpu_seconds - (first.cpu_seconds or 0.0)
        cpu += (batch.executor_seconds or 0.0) - (first.executor_seconds or 0.0)
        records, batches = batch.read - (first.read or 0), sum(each.between(begin, end) for each in numbers)
        if cpu >= 0 and records >= 0 and batches > 0:  # a stream that was started again counts from 0
            yield LoadWindow(begin, (end - begin).total_seconds(), cpu, records, batches)
        first = batch


def records_read(log: Sequence[BatchFigures]) -> int:
    """Return how many records a stream has read, as far as its batches are on record."""
    known = [[each.read for each in run if each.read is not None] for run in runs(log)]
    return sum(max(0, reads[-1] - reads[0]) for reads in known if reads)


def batch_times(log: Sequence[BatchFigures], *, warm_up: timedelta = WARM_UP) -> Sequence[BatchTime]:
    """Return how long the batches of a stream took, of all generations on record, without their warm-up."""
    found: list[BatchTime] = []
    for run in runs(log):
        warm = run[0].at + warm_up
        for before, batch in pairwise(run):
            if batch.number != before.number + 1 or batch.read is None or before.read is None or batch.at < warm:
                continue
            if batch.seconds is not None and batch.read >= before.read:
                found.append(BatchTime(batch.read - before.read, batch.seconds))
    return found


class _Growth:
    """A count that grows with a stream's batches, by when they were planned; many short ones are not in the log.

    Args:
        steps: when a batch was planned, and the count with it.
        begin: the count before the first of them.
    """

    def __init__(self, steps: Iterable[tuple[datetime, int]], begin: int) -> None:
        own = sorted(steps)
        self._times, self._counts = [at for at, _ in own], [begin, *(count for _, count in own)]

    def between(self, begin: datetime, end: datetime) -> int:
        """Return by how much it grew with the batches that were planned in `(begin, end]`."""
        before, after = (self._counts[bisect_right(self._times, moment)] for moment in (begin, end))
        return max(0, after - before)


def _numbers(log: Sequence[BatchFigures], generation: int) -> _Growth:
    """Return how the number of a stream's batches grew."""
    steps = [(batch.at, batch.number) for batch in log if batch.generation == generation]
    return _Growth(steps, min(steps)[1] - 1 if steps else 0)


def _reads(log: Sequence[BatchFigures], generation: int) -> _Growth:
    """Return how the number of records grew that a stream has read."""
    return _Growth(((each.at, each.read) for each in log if each.generation == generation and each.read is not None), 0)
