"""Reports what one batch process does to lineage. At its end it waits some seconds for the events to be sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from sluice.errors import SpecError
from sluice.intervals.backfill.backfills import Backfill
from sluice.lineage.emitter import Lineage, lineage
from sluice.lineage.identity import Parent, parent_in
from sluice.lineage.results import BackfillEnd, QualityCheck
from sluice.project.project import Project
from sluice.quality.gate import GateResult
from sluice.settings import environment

if TYPE_CHECKING:
    from sluice.lineage.batches import BatchJob
    from sluice.lineage.emitter import RunEvent
    from sluice.project.lineage_map import LineageMap

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 10.0
"""How long an ended process waits for the collector: in this time a healthy one takes thousands of events."""


class BatchLineage:
    """Offers events of a backfill or check, if lineage is configured. Its methods return at once, and raise nothing."""

    def __init__(self, project: Project, pipeline: str, to: Lineage | None) -> None:
        self._project = project
        self._pipeline = pipeline
        self._to = to

    def backfill_started(self, backfill: Backfill) -> None:
        """Report that this process has claimed a backfill."""
        self._offer(lambda _, job: job.backfill_started(backfill))

    def backfill_ended(self, backfill: Backfill, end: BackfillEnd) -> None:
        """Report how it ended. What it has published is read from the table's log."""
        self._offer(lambda read, job: job.backfill_ended(backfill, replace(end, published=read.published(backfill))))

    def check_started(self, check: QualityCheck) -> None:
        """Report that a check of the published table has begun."""
        self._offer(lambda _, job: job.check_started(check))

    def check_ended(self, check: QualityCheck, at: datetime, gate: GateResult | None, why: str = "") -> None:
        """Report the result of a check, or why it could not be run."""
        self._offer(lambda _, job: job.check_ended(check, at, gate, why))

    def _offer(self, make: Callable[[LineageMap, BatchJob], RunEvent]) -> None:
        def events() -> list[RunEvent]:
            from sluice.project.lineage_map import LineageMap  # noqa: PLC0415 - it imports the client

            lineage_map = LineageMap(self._project)
            return [make(lineage_map, lineage_map.batch(self._pipeline, _parent()))]

        if self._to is not None:
            self._to.offer(events)


@contextmanager
def batch_lineage(project: Project, pipeline: str) -> Iterator[BatchLineage]:
    """Give what reports lineage; at the end, wait a moment until all events are sent."""
    emitter = lineage()
    try:
        yield BatchLineage(project, pipeline, emitter)
    finally:
        if emitter is not None:
            emitter.close(_PATIENCE_SECONDS)


def _parent() -> Parent | None:
    """Return the run that started this process; None if the variables name none, or nothing readable."""
    try:
        return parent_in(environment())
    except SpecError as error:
        log.warning("Lineage is sent without its parent. %s", error)
        return None
