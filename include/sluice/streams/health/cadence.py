"""How often a stream usually commits, learned from its own batches, and how long a batch of a given size may take."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.series import Series
from sluice.streams.health.window import CommitSample

MIN_BATCHES = 2
_NEWEST = 3
MIN_SECONDS = 30.0
"""A pause of half a minute is nothing to wake an operator for, however fast the stream is: a collection of garbage, a
broker's election, three observations of the watcher."""


@dataclass(frozen=True)
class Cadence:
    """What is usual.

    Attributes:
        seconds: between two commits while there was something to read.
        batch_seconds: from a batch's plan to its commit.
        batch_records: read by a batch.
        record_seconds: a batch's time per record; if the newest batches are slower than the others, theirs.
    """

    seconds: float
    batch_seconds: float
    batch_records: float
    record_seconds: float

    def expected(self, records: int | None) -> float:
        """Return how many seconds a batch may usually take until it is committed, at the learned rate."""
        return max(self.seconds, self.batch_seconds, 0.0 if records is None else records * self.record_seconds)


def learn(batches: Series[CommitSample], rhythm: Rhythm) -> Cadence | None:
    """Learn from batches that read something, oldest first; None if there are too few."""
    # By columns: a busy stream's hundred batches are asked about at every observation.
    _, planned, committed, _, records = batches.columns()
    read = [n for n in range(1, len(batches)) if records[n] > 0]  # of a batch that is not known it is below 0
    if len(read) < MIN_BATCHES:
        return None
    trigger, lasted = rhythm.trigger.total_seconds(), [committed[n] - planned[n] for n in read]
    # A stream that waits for records commits rarely; what counts is how long it takes once they are there.
    gaps = [min(committed[n] - committed[n - 1], trigger + seconds) for n, seconds in zip(read, lasted, strict=True)]
    paces = [seconds / records[n] for n, seconds in zip(read, lasted, strict=True)]
    return Cadence(
        seconds=max(MIN_SECONDS, trigger, median(gaps)),
        batch_seconds=median(lasted),
        batch_records=median(records[n] for n in read),
        record_seconds=max(median(paces), median(paces[-_NEWEST:])),
    )
