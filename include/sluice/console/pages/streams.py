"""One stream: what it does, how far it is behind, what was tried, and what may be asked of its driver."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from sluice.console.context.access import Visitor, VisitorDep
from sluice.console.context.log_tail import last_lines
from sluice.console.context.page_context import ConsoleCommand, ContextDep, SpecName
from sluice.console.html.batch_charts import charts_of
from sluice.console.html.site import base_of, page
from sluice.project.project import Project
from sluice.settling.wording import settling_lines
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.streams.health.batch_log import batches, quarantined
from sluice.streams.health.fleet import ATTEMPTS_READ, StreamStatus
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.life.status import UnitStatus
from sluice.streams.life.timeline import SHOWN, Timeline, timeline

router = APIRouter()


HISTORY = timedelta(hours=24)
_LOG_BYTES = 6 * 1024
_MAX_CHANGES = 30


@router.get("/streams/{stream}")
def stream(request: Request, stream: SpecName, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show a stream."""
    project, now = context.project, context.clock.now()
    unit = unit_of(project, stream, visitor)
    stream_status = next(each for each in project.health.statuses([unit], now) if each.stream == stream)
    dag_id, attempts = stream_dag_id(unit.name), _attempts(project, unit, now)
    logged = batches(project.folder.batch_log(stream))
    pipeline, settling = project.catalog.pipeline_of(stream), stream_status.verdict.settling
    return page(
        request,
        "stream.html",
        stream_status=stream_status,
        settling=() if settling is None else tuple(settling_lines(settling, stream)),
        siblings=[name for name in unit.streams if name != stream],
        topics=project.catalog.topics_of(stream),
        charts=charts_of(logged),
        batches=logged,
        quarantined=quarantined(logged),
        pipeline=None if pipeline is None else pipeline.name,
        attempts=attempts,
        shown=SHOWN,
        changes=_changes(project, unit.name, stream, now),
        log=_log(attempts),
        dag_id=dag_id,
        actions=_actions(stream_status) if context.runner is not None and visitor.may_run(dag_id) else (),
    )


@router.get("/dags/{dag_id}")
def of_dag(request: Request, dag_id: str, visitor: VisitorDep, context: ContextDep) -> RedirectResponse:
    """Lead from a DAG's page in Airflow to the page of what it is about."""
    project = context.project
    for name, unit in project.catalog.units().items():
        if stream_dag_id(name) == dag_id and unit.streams and visitor.readable([dag_id]):
            first = (unit.pipelines or unit.streams)[0]
            return RedirectResponse(f"{base_of(request)}/streams/{first}", 307)
    if dag_id.startswith("topic") and visitor.readable([dag_id]):
        return RedirectResponse(f"{base_of(request)}/topics", 307)
    kind, _, subject = dag_id.partition("_")
    if kind in {"backfill", "quality"} and subject in project.catalog.pipelines and visitor.readable([dag_id]):
        where = "intervals" if kind == "backfill" else "quality"
        return RedirectResponse(f"{base_of(request)}/{where}/{subject}", 307)
    return RedirectResponse(f"{base_of(request)}/", 307)


def unit_of(project: Project, stream: str, visitor: Visitor) -> Unit:
    """Return the unit of a stream. A stream that the visitor may not see does not exist for the visitor.

    Raises:
        HTTPException: 404.
    """
    for unit in project.catalog.units().values():
        if stream in unit.streams and visitor.readable([stream_dag_id(unit.name)]):
            return unit
    raise HTTPException(404, f"There is no stream {stream}, or it is not yours to see.")


def require_unit(name: str, visitor: Visitor) -> None:
    """Go on only if a visitor may see a unit, also one whose spec is broken or gone.

    Raises:
        HTTPException: 404.
    """
    if not visitor.readable([stream_dag_id(name)]):
        raise HTTPException(404, f"There is no unit {name}, or it is not yours to see.")


def _actions(status: StreamStatus) -> Sequence[ConsoleCommand]:
    if status.halted:
        return (ConsoleCommand.RESUME, ConsoleCommand.STOP)
    return (ConsoleCommand.RESTART, ConsoleCommand.STOP) if status.should_run else (ConsoleCommand.START,)


def _attempts(project: Project, unit: Unit, now: datetime) -> Timeline:
    registry = project.records.registry()
    attempts = registry.attempts(unit.name, newest=ATTEMPTS_READ)
    newest = attempts[0] if attempts else None
    status = UnitStatus(unit.name, registry.desired(unit.name), newest, None, earlier=tuple(attempts[1:]))
    return timeline(status, attempts, now=now, log=project.processes.launcher().log)


def _changes(project: Project, unit: str, stream: str, now: datetime) -> Sequence[RecordedVerdict]:
    recorded = project.records.registry().verdicts_since(unit, now - HISTORY)
    return [record for record in reversed(recorded) if record.stream == stream][:_MAX_CHANGES]


def _log(attempts: Timeline) -> str:
    """Return the end of the newest attempt's log; empty if there is none."""
    file = attempts.entries[0].log if attempts.entries else None
    return last_lines(file, _LOG_BYTES) if file is not None and file.is_file() else ""
