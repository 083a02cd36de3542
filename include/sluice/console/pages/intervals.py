"""Intervals: who wrote what, what is dirty or stale, whether stream and batch agree, and how to mend it."""

from __future__ import annotations

from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep, readable
from sluice.console.context.page_context import ContextDep, SpecName
from sluice.console.html.calendar import calendar, month_of, next_month
from sluice.console.html.paging import PageNumber, paged
from sluice.console.html.site import page
from sluice.intervals.alignment import interval_of
from sluice.intervals.backfill.advice import advise
from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.ledger import Ledger, LedgerRow, State
from sluice.intervals.raw_floor import WholeFrom
from sluice.project.project import Project
from sluice.settling.wording import settling_lines
from sluice.specs.catalog.dag_ids import backfill_dag_id
from sluice.specs.model.model import PipelineSpec
from sluice.streams.health.fleet import StreamStatus

router = APIRouter()

_BACKFILLS = 10


@router.get("/intervals")
def overview(request: Request, visitor: VisitorDep, context: ContextDep, number: PageNumber = 1) -> HTMLResponse:
    """Show how the intervals of each pipeline stand, those with dirty ones first."""
    project = context.project
    names = readable(visitor, {backfill_dag_id(name): name for name in project.catalog.interval_pipelines})
    known = project.tables.index().overview()
    rows = [(name, known.get(name)) for name in names]
    rows.sort(key=lambda row: (-(row[1].counts.get(State.DIRTY, 0) if row[1] else 0), row[0]))
    states = (State.CLOSED, State.PUBLISHED, State.DIRTY)
    return page(request, "intervals.html", states=states, **paged(rows, number))


@router.get("/intervals/{pipeline}")
def of_pipeline(
    *,
    request: Request,
    pipeline: SpecName,
    visitor: VisitorDep,
    context: ContextDep,
    month: Annotated[str, Query(pattern=r"^\d{4}-\d{2}$|^$")] = "",
    at: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    """Show a month of a pipeline's intervals, and one of them closely."""
    project = context.project
    spec = _spec(project, pipeline, visitor)
    chosen = _instant(at)
    index, code = project.tables.index(), context.code_of(pipeline)
    head = index.overview().get(pipeline)
    newest = head.closed_until if head else None
    first = _instant(month and f"{month}-01", "2013-01-01") or month_of(chosen or newest or context.clock.now())
    ledger = index.ledger(pipeline, since=first, until=next_month(first))
    length, settler = spec.intervals.interval_length, _settler(project, spec, context.clock.now())
    settling = None if settler is None else settler.verdict.settling
    dag_id = backfill_dag_id(pipeline)
    return page(
        request,
        "calendar.html",
        pipeline=pipeline,
        calendar=calendar(first, length, ledger, code, settling),
        settler=settler,
        settling=() if settling is None else tuple(settling_lines(settling, pipeline)),
        head=head,
        code=code,
        chosen=None if chosen is None else _closely(ledger, spec, chosen, code, project.tables.whole_now(pipeline)),
        backfills=project.records.backfills().recent(pipeline, limit=_BACKFILLS),
        modes=list(Mode),
        only=list(Only),
        dag_id=dag_id,
        may_ask=context.runner is not None and visitor.may_run(dag_id),
    )


def _settler(project: Project, spec: PipelineSpec, now: datetime) -> StreamStatus | None:
    """Return how the stream stands that settles a pipeline's table; None where none does."""
    found = project.health.statuses([project.catalog.unit(spec.driver)], now)
    return next((status for status in found if status.stream == spec.name), None)


def _closely(
    ledger: Ledger, spec: PipelineSpec, moment: datetime, code: str, whole: WholeFrom | None
) -> dict[str, object]:
    interval = interval_of(moment, spec.intervals.interval_length)
    row = ledger.rows.get(interval.start) or LedgerRow(interval)
    advice = advise(row, ledger.closed_until, code, repair=spec.backfill.repair, whole=whole)
    return {"interval": interval, "row": row, "state": row.state(code), "advice": advice}


def _spec(project: Project, pipeline: str, visitor: Visitor) -> PipelineSpec:
    spec = project.catalog.interval_pipelines.get(pipeline)
    if spec is None or not visitor.readable([backfill_dag_id(pipeline)]):
        raise HTTPException(404, f"There is no pipeline {pipeline} with intervals, or it is not yours to see.")
    return spec


def _instant(text: str, example: str = "2013-01-01T05:00Z") -> datetime | None:
    if not text:
        return None
    with suppress(ValueError):
        parsed = datetime.fromisoformat(text)
        if MINYEAR < parsed.year < MAXYEAR:  # so that the months beside it are in the calendar
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    raise HTTPException(422, f"{text!r:.60} is not a time such as {example}.")
