"""Sends the lineage events of one batch process. It waits for delivery only at its end, for a few seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from sluice.errors import SpecError
from sluice.intervals.backfill.backfills import Backfill
from sluice.lineage.batches import (
    BatchJob,
    Ended,
    QualityCheck,
    backfill_began,
    backfill_ended,
    check_began,
    check_ended,
)
from sluice.lineage.event import Event, Lineage
from sluice.lineage.identity import Parent, parent_in
from sluice.lineage.transport.emitter import lineage
from sluice.project.lineage_map import LineageMap
from sluice.project.project import Project
from sluice.quality.gate import GateResult
from sluice.settings import environment

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 10.0
"""How long an ended process waits for the lineage service, which takes thousands of events in that time."""


class BatchLineage:
    """Offers events of a backfill or a check. Its methods return at once, and raise nothing.

    Args:
        project: says what a pipeline reads and writes.
        pipeline: whose batch it is.
        to: takes the events; None: none are sent.
    """

    def __init__(self, project: Project, pipeline: str, to: Lineage | None) -> None:
        self._map = LineageMap(project)
        self._pipeline = pipeline
        self._to = to

    def backfill_began(self, backfill: Backfill) -> None:
        """Send that this process has claimed a backfill."""
        self._offer(lambda job: backfill_began(job, backfill))

    def backfill_ended(self, backfill: Backfill, end: Ended) -> None:
        """Send how it ended; what it has published is read from the table's log."""
        self._offer(lambda job: backfill_ended(job, backfill, replace(end, published=self._map.published(backfill))))

    def check_began(self, check: QualityCheck) -> None:
        """Send that the published table is checked."""
        self._offer(lambda job: check_began(job, check))

    def check_ended(self, check: QualityCheck, at: datetime, gate: GateResult | None, why: str = "") -> None:
        """Send the result of the gate, or why there is none."""
        self._offer(lambda job: check_ended(job, check, at, gate, why))

    def _offer(self, make: Callable[[BatchJob], Event]) -> None:
        if self._to is not None:
            self._to.offer(lambda: [make(self._map.batch(self._pipeline, _parent()))])


@contextmanager
def batch_lineage(project: Project, pipeline: str) -> Iterator[BatchLineage]:
    """Give what sends lineage, where that is configured; at the end, wait a moment until all is sent."""
    emitter = lineage()
    try:
        yield BatchLineage(project, pipeline, emitter)
    finally:
        if emitter is not None:
            emitter.close(_PATIENCE_SECONDS)


def _parent() -> Parent | None:
    """Return the run that has started this process; a variable that cannot be parsed is logged and ignored."""
    try:
        return parent_in(environment())
    except SpecError as error:
        log.warning("Lineage is sent without its parent. %s", error)
        return None
