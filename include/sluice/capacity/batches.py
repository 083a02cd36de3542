"""How long batches of a stream take at a rate: whether it keeps up, and how long a record waits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.capacity.fitting import fitted
from sluice.capacity.measured import MIN_SPREAD, MIN_WINDOWS, MeasuredUnit


@dataclass(frozen=True)
class BatchModel:
    """The batches of one stream.

    Attributes:
        stream: its name.
        trigger: least seconds between the begins of two batches; 0: one follows the other.
        fixed: seconds of a batch without records.
        each: further seconds per record, on one core.
        cores: that the batches were measured with, as far as they had tasks for them.
        share: of the records of the pipeline so many are its own: one of several topics has not all.
    """

    stream: str
    trigger: float
    fixed: float
    each: float
    cores: int
    share: float = 1.0

    def load(self, rate: float) -> float:
        """Return the seconds that a second's records take in batches on one core: as many cores keep up."""
        return self.each * rate * self.share

    @property
    def least_latency(self) -> float:
        """How long a record waits at most where records take no time."""
        return self.fixed + max(self.trigger, self.fixed)

    def times(self, rate: float, cores: float) -> tuple[float, float, float]:
        """Return the length of a batch, and how long a record waits on average and at most: seconds.

        They are infinite at a rate that so many cores cannot keep up with.
        """
        each = self.each * self.share / cores
        if rate * each >= 1:
            return math.inf, math.inf, math.inf
        paced = self.fixed + each * rate * self.trigger
        length = paced if paced <= self.trigger else self.fixed / (1 - rate * each)
        between = max(self.trigger, length)
        return length, between / 2 + length, between + length

    def cores_for(self, rate: float, latency: float) -> float:
        """Return with how many cores no record waits for longer; `latency` is above `least_latency`."""
        if latency >= 2 * self.trigger:  # a batch may begin when the one before ends, later than by its trigger
            return self.load(rate) / (1 - 2 * self.fixed / latency)
        return self.load(rate) * self.trigger / (latency - self.trigger - self.fixed)


def batch_models(measured: MeasuredUnit) -> Sequence[BatchModel]:
    """Return the models of the streams of which enough batches of different sizes are on record."""
    found = []
    for stream, times in sorted(measured.batch_times.items()):
        records = sorted(time.records for time in times)
        if len(records) < MIN_WINDOWS or not records[-1] or records[-1] < MIN_SPREAD * max(1, records[0]):
            continue
        cores = max(1, min(measured.cores, measured.stream_tasks.get(stream, measured.tasks)))
        fit, trigger = fitted([time.as_sample() for time in times]), measured.triggers.get(stream, 0.0)
        found.append(BatchModel(stream, trigger, fit.fixed, fit.each * cores, cores, measured.shares.get(stream, 1.0)))
    return found
