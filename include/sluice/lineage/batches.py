"""The events of what has an end: backfills, and checks of a published table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.backfill.request import Mode
from sluice.lineage.event import Dataset, Event, EventType, Facet, LineageJob
from sluice.lineage.facets import (
    Processing,
    assertions,
    documentation,
    error_message,
    job_type,
    nominal_time,
    ownership,
    parent,
    processing_engine,
    rows_read,
    rows_written,
    state,
    version,
)
from sluice.lineage.identity import Parent, run_id
from sluice.quality.gate import GateResult


@dataclass(frozen=True)
class BatchJob:
    """What a backfill or a check is, as far as its runs do not differ.

    Attributes:
        namespace: of our jobs.
        deployment: where it runs.
        pipeline: whose it is.
        engine: version of Spark.
        sources: what results are made from: the raw table and static files.
        table: the interval table.
        owner: who answers for it.
        description: what the pipeline is for; empty if nobody said.
        parent: the run that has started this process; None if nobody said.
    """

    namespace: str
    deployment: str
    pipeline: str
    engine: str
    sources: tuple[Dataset, ...]
    table: Dataset
    owner: str
    description: str = ""
    parent: Parent | None = None

    def job(self, kind: str) -> LineageJob:
        """Return the job, named `<kind>.<pipeline>`."""
        facets = [job_type(Processing.BATCH, _KINDS[kind]), ownership(self.owner)]
        facets += [documentation(self.description)] if self.description else []
        return LineageJob(self.namespace, f"{kind}.{self.pipeline}", tuple(facets))


BACKFILL, QUALITY = "backfill", "quality"
_KINDS = {BACKFILL: "BACKFILL", QUALITY: "QUALITY_CHECK"}


@dataclass(frozen=True)
class Published:
    """What a process of a backfill has committed: the rows of all its commits, and the version of the last."""

    rows: int
    version: int


@dataclass(frozen=True)
class Ended:
    """How a backfill ended.

    Attributes:
        at: when (UTC).
        passed: whether all is as it should be.
        outcome: in one word.
        why: in a sentence, if it did not come to its end; what a report says of data is not for it.
        cancelled: whether somebody asked for its end.
        gate: what the last quality gate said; None if there was none.
        published: None if it has published nothing, or nobody could look.
    """

    at: datetime
    passed: bool
    outcome: str
    why: str = ""
    cancelled: bool = False
    gate: GateResult | None = None
    published: Published | None = None


def backfill_began(job: BatchJob, backfill: Backfill) -> Event:
    """Return the first event of a process that has claimed a backfill. Whoever resumes it is another run."""
    return _of_backfill(job, backfill, EventType.START, backfill.claimed_at)


def backfill_ended(job: BatchJob, backfill: Backfill, end: Ended) -> Event:
    """Return the last event."""
    more = () if end.passed else (error_message(_error(backfill, end)),)
    facets, use = job.table.facets, job.table.use
    if end.gate is not None:
        facets = (*facets, assertions(end.gate))
    if end.published is not None:
        facets, use = (*facets, version(end.published.version)), (*use, rows_written(end.published.rows))
    job = replace(job, table=replace(job.table, facets=facets, use=use))
    kind = EventType.COMPLETE if end.passed else EventType.ABORT if end.cancelled else EventType.FAIL
    return _of_backfill(job, backfill, kind, end.at, *more, outcome=end.outcome)


def _error(backfill: Backfill, end: Ended) -> str:
    """Say why it ended badly. Reports show rows that differ, and lineage gets none of them."""
    if end.gate is not None and not end.gate.passed:
        return _does_not_hold(end.gate)
    if end.why:
        return end.why
    return f"The outcome is {end.outcome}: `sluice backfill status {backfill.id}` says where the report is."


def _does_not_hold(gate: GateResult) -> str:
    """Name what a gate stopped for, without the values that it saw."""
    names = dict.fromkeys(
        f"{each.expectation} ({each.subject})"
        for each in (*gate.checked, *(i.checked for i in gate.intervals))
        if each.stops
    )
    told = [*names, *(["no rows, although records came in"] if gate.missing else [])]
    return f"The quality gate failed: {', '.join(told) or 'the checks did not finish'}."


def _of_backfill(
    job: BatchJob,
    backfill: Backfill,
    kind: EventType,
    at: datetime,
    *more: Facet,
    outcome: str | None = None,
) -> Event:
    asked = backfill.request
    run = run_id(backfill.claimed_at, f"{job.namespace}/{job.deployment}/{BACKFILL}/{backfill.id}")
    said = state(
        deployment=job.deployment,
        backfill=backfill.id,
        mode=asked.mode.value,
        askedBy=asked.by,
        why=asked.why or None,
        outcome=outcome,
    )
    facets = (*_facets(job, asked.range), said, *more)
    if asked.mode is Mode.VERIFY:  # it compares, and publishes nothing
        return Event(kind, at, run, job.job(BACKFILL), facets, (*job.sources, job.table))
    return Event(kind, at, run, job.job(BACKFILL), facets, job.sources, (job.table,))


@dataclass(frozen=True)
class QualityCheck:
    """A check of a published table: when it began (UTC), and of which range; None if that is not chosen yet."""

    began: datetime
    range: Interval | None


def check_began(job: BatchJob, check: QualityCheck) -> Event:
    """Return the first event of a check."""
    return _of_check(job, check, EventType.START, check.began)


def check_ended(job: BatchJob, check: QualityCheck, at: datetime, gate: GateResult | None, why: str = "") -> Event:
    """Return the last event of a check.

    Args:
        job: whose table.
        check: what was looked at.
        at: when it ended (UTC).
        gate: what was found; None if it did not come to that.
        why: what kept it from that.
    """
    if gate is None:
        return _of_check(job, check, EventType.FAIL, at, (error_message(why),))
    read = () if gate.rows is None else (rows_read(gate.rows),)
    job = replace(job, table=replace(job.table, use=(assertions(gate), *read)))
    if gate.passed:
        return _of_check(job, check, EventType.COMPLETE, at)
    return _of_check(job, check, EventType.FAIL, at, (error_message(_does_not_hold(gate)),))


def _of_check(job: BatchJob, check: QualityCheck, kind: EventType, at: datetime, more: tuple[Facet, ...] = ()) -> Event:
    run: UUID = run_id(check.began, f"{job.namespace}/{job.deployment}/{QUALITY}/{job.pipeline}")
    facets = (*_facets(job, check.range), state(deployment=job.deployment), *more)
    return Event(kind, at, run, job.job(QUALITY), facets, (job.table,))


def _facets(job: BatchJob, about: Interval | None) -> tuple[Facet, ...]:
    engine = (processing_engine(job.engine),)
    of = () if about is None else (nominal_time(about.start, about.end),)
    return (*engine, *of, *(() if job.parent is None else (parent(job.parent),)))
