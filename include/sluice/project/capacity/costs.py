"""Puts on record what drivers have used, by their logs of batches, and reads what pipelines have cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sluice.capacity.costs import OBSERVED_EVERY, CostReading, PipelineCost, Work, pipeline_costs
from sluice.project.project import Project
from sluice.specs.catalog.catalog import Unit
from sluice.streams.health.batch_log import BatchFigures, newest_batch


def record_driver_costs(project: Project, now: datetime, *, every: timedelta = OBSERVED_EVERY) -> None:
    """Put on record what the newest driver of each unit has used.

    A driver that rests logs no batch: what it uses meanwhile is on record with its next one.

    Args:
        project: where they run.
        now: the present (UTC).
        every: drivers that were read more lately than that are not read again.

    Raises:
        UnreachableError: the record could not be queried or written.
    """
    log = project.records.costs()
    before = log.observed_at()
    if before is not None and timedelta() <= now - before < every:
        return
    readings = (driver_reading(project, unit) for unit in project.catalog.units().values())
    log.observe([each for each in readings if each is not None], now)


def driver_reading(project: Project, unit: Unit) -> CostReading | None:
    """Return what the newest driver of a unit has used; None if its streams have logged no batch yet."""
    logged = dict(_newest(project, unit))
    if not logged:
        return None
    generation = max(batch.generation for batch in logged.values())
    newest = {stream: batch for stream, batch in logged.items() if batch.generation == generation}
    return CostReading(
        run=f"{unit.name}#{generation}",
        work=Work.DRIVER,
        subject=unit.name,
        cpu_seconds=max(batch.cpu_seconds or 0.0 for batch in newest.values()),
        executor_seconds=max(batch.executor_seconds or 0.0 for batch in newest.values()),
        reads={stream: batch.read for stream, batch in newest.items() if batch.read is not None},
    )


def _newest(project: Project, unit: Unit) -> Iterator[tuple[str, BatchFigures]]:
    for stream in unit.streams:
        batch = newest_batch(project.folder.batch_log(stream))
        if batch is not None and batch.cpu_seconds is not None:
            yield stream, batch


def costs_of_pipelines(project: Project, now: datetime, days: int) -> Sequence[PipelineCost]:
    """Return what each pipeline has used on each of the last days (UTC), today included, ordered by day and name.

    Raises:
        UnreachableError: the record could not be queried.
    """
    since = now.date() - timedelta(days=days - 1)
    return pipeline_costs(project.records.costs().since(since), project.catalog)
