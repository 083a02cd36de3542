"""When simulated events happen, and how long after that they become known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from sluice.simulators.draws import exponential, generator
from sluice.specs.feeds.simulation import Disorder, Simulation

_DAY = timedelta(days=1)
_HIGHEST_HOUR = 20
_MILLISECOND = timedelta(milliseconds=1)


def event_times(simulation: Simulation) -> Iterator[datetime]:
    """Yield when the events of drawn fields happen (UTC, whole milliseconds), in order."""
    rate = simulation.rate or 1.0
    if simulation.spacing == "steady":
        for n in range(math.ceil(simulation.length.total_seconds() * rate)):
            yield _whole(simulation.start + timedelta(seconds=n / rate))
        return
    random = generator(simulation.seed, "times")
    highest = rate * (1 + simulation.daily_wave)
    at = simulation.start + timedelta(seconds=exponential(random, 1 / highest))
    while at < simulation.end:
        # Candidates come at the highest rate; the share that the hour's rate has of it is kept.
        if random.random() * highest < rate * _wave(at, simulation.daily_wave):
            yield _whole(at)
        at += timedelta(seconds=exponential(random, 1 / highest))


def delay(disorder: Disorder, random: Random) -> timedelta:
    """Draw how long after its event a record becomes known, in whole milliseconds."""
    wait = exponential(random, disorder.mean.total_seconds()) // _MILLISECOND.total_seconds() * _MILLISECOND
    return wait + disorder.late_by if random.random() < disorder.late else wait


def _wave(at: datetime, height: float) -> float:
    passed = (at - at.replace(hour=_HIGHEST_HOUR, minute=0, second=0, microsecond=0)) / _DAY
    return 1 + height * math.cos(2 * math.pi * passed)


def _whole(at: datetime) -> datetime:
    return at - timedelta(microseconds=at.microsecond % _MILLISECOND.microseconds)
