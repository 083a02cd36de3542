"""What drivers and batches have cost by the day, and whose pipelines that was for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.catalog.streams import StreamKind
from sluice.specs.deployments.prices import Prices

KEPT = timedelta(days=400)
"""A year can be compared with the one before."""
OBSERVED_EVERY = timedelta(minutes=5)
"""A fleet of thousands has as many logs to read."""
_HOUR = 3600


class Work(StrEnum):
    """What a process did."""

    DRIVER = "driver"
    BACKFILL = "backfill"
    QUALITY = "quality"
    REPLAY = "replay"


@dataclass(frozen=True)
class CostReading:
    """What one process has used since it began.

    Attributes:
        run: names the process: the same for all its readings, another for any other process.
        work: what it did.
        subject: the unit of a driver, the pipeline of a batch.
        cpu_seconds: of the process and all below it.
        executor_seconds: that executors of a cluster worked on its tasks.
        reads: how many records each stream of a driver has read; empty for a batch.
    """

    run: str
    work: Work
    subject: str
    cpu_seconds: float
    executor_seconds: float = 0.0
    reads: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DayCost:
    """What one process used on one day (UTC): `reading` counts from the day's first reading on, but `reads`."""

    day: date
    reading: CostReading


class CostLog(Protocol):
    """The record of what processes used. Every method may raise UnreachableError."""

    def observe(self, readings: Sequence[CostReading], at: datetime) -> None:
        """Add what each process has used since its last reading to the day (UTC) of this one."""
        ...

    def since(self, day: date) -> Sequence[DayCost]:
        """Return what was used from a day on, in the order of days."""
        ...

    def observed_at(self) -> datetime | None:
        """Return when drivers were last read (UTC); None if they never were."""
        ...

    def forget(self, before: date) -> int:
        """Forget what was used before a day; return how many readings that were."""
        ...


@dataclass(frozen=True)
class PipelineCost:
    """What a pipeline used on one day.

    Attributes:
        pipeline: its name.
        day: in UTC.
        seconds: of CPU by the word of the work, and of executors as `executors`.
    """

    pipeline: str
    day: date
    seconds: Mapping[str, float]

    @property
    def total(self) -> float:
        """All seconds."""
        return sum(self.seconds.values())

    def money(self, prices: Prices | None) -> float | None:
        """Return what they cost by the price of a core-hour; None if it is not declared."""
        return None if prices is None or prices.core_hour is None else self.total / _HOUR * prices.core_hour

    def as_dict(self, prices: Prices | None) -> dict[str, Any]:
        """Return it as JSON values; without a price there is no money."""
        money = self.money(prices)
        priced = {} if prices is None or money is None else {"money": money, "currency": prices.currency}
        return {
            "pipeline": self.pipeline,
            "day": self.day.isoformat(),
            "cpu_seconds": {kind: round(seconds, 3) for kind, seconds in self.seconds.items()},
            "total_seconds": round(self.total, 3),
            **priced,
        }


EXECUTORS = "executors"
KINDS = (Work.DRIVER.value, EXECUTORS, Work.BACKFILL.value, Work.QUALITY.value, Work.REPLAY.value)
"""The parts of a cost, in the order in which they are shown."""


def pipeline_costs(costs: Iterable[DayCost], catalog: Catalog) -> Sequence[PipelineCost]:
    """Return what each pipeline used on each day, ordered by day and pipeline.

    The cost of a driver is shared by its pipelines; see `driver_shares`. What no spec declares any more is under the
    name of its unit or pipeline.
    """
    units = catalog.units()
    found: dict[tuple[date, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for cost in costs:
        reading = cost.reading
        shares: Mapping[str, float] = {reading.subject: 1.0}
        if reading.work is Work.DRIVER and (unit := units.get(reading.subject)) is not None:
            shares = driver_shares(unit, reading.reads, catalog)
        for pipeline, share in shares.items():
            seconds = found[cost.day, pipeline]
            seconds[reading.work.value] += share * reading.cpu_seconds
            if reading.executor_seconds:
                seconds[EXECUTORS] += share * reading.executor_seconds
    return [PipelineCost(pipeline, day, dict(seconds)) for (day, pipeline), seconds in sorted(found.items())]


def whole_costs(costs: Iterable[PipelineCost]) -> Sequence[PipelineCost]:
    """Return what each pipeline used on all these days together, under its first day, ordered by name."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    begins: dict[str, date] = {}
    for cost in costs:
        begins[cost.pipeline] = min(begins.get(cost.pipeline, cost.day), cost.day)
        for kind, seconds in cost.seconds.items():
            found[cost.pipeline][kind] += seconds
    return [PipelineCost(name, begins[name], dict(seconds)) for name, seconds in sorted(found.items())]


def driver_shares(unit: Unit, reads: Mapping[str, int], catalog: Catalog) -> Mapping[str, float]:
    """Return which share of a driver each pipeline bears; together 1.

    Each stream weighs as many records as it has read. A raw stream is for all pipelines of its topic, in equal parts;
    without any it bears its own name. Before anything was read, all streams weigh the same.
    """
    known = {stream: max(0, reads.get(stream, 0)) for stream in unit.streams}
    if not any(known.values()):
        known = dict.fromkeys(unit.streams, 1)
    whole, shares = sum(known.values()), defaultdict[str, float](float)
    for stream, weight in known.items():
        bearers = _bearers(stream, catalog)
        for pipeline in bearers:
            shares[pipeline] += weight / whole / len(bearers)
    return dict(shares)


def _bearers(stream: str, catalog: Catalog) -> Sequence[str]:
    declared = catalog.streams[stream]
    if declared.kind is not StreamKind.RAW:
        return (stream,) if declared.pipeline is None else (declared.pipeline.name,)
    readers = [pipeline.name for pipeline in catalog.readers.get(declared.topics[0], ())]
    return readers or (stream,)
