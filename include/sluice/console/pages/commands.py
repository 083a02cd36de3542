"""What a visitor asks for: a run of a DAG, started in the visitor's name. The only routes that write."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from sluice.console.context.access import Visitor, VisitorDep, refuse_foreign_origin
from sluice.console.context.page_context import ConsoleCommand, ConsoleContext, ContextDep, SpecName
from sluice.console.html.site import base_of, page
from sluice.console.pages.streams import require_unit
from sluice.errors import SpecError
from sluice.intervals.backfill.request import Mode, Only
from sluice.specs.catalog.dag_ids import REPLAY, backfill_dag_id, stream_dag_id

router = APIRouter()
writes = [Depends(refuse_foreign_origin)]

Reason = Annotated[str, Form(min_length=1, max_length=500)]


class BackfillForm(BaseModel):
    """What the dialog of a backfill asks for; the names are those of the form of its DAG."""

    since: str = Field(alias="from", min_length=1, max_length=40)
    until: str = Field(alias="to", min_length=1, max_length=40)
    mode: Mode
    only: Only
    reason: str = Field(min_length=1, max_length=500)


@router.post("/units/{unit}/request", dependencies=writes)
def request_unit(
    *,
    request: Request,
    unit: SpecName,
    action: Annotated[ConsoleCommand, Form()],
    reason: Reason,
    visitor: VisitorDep,
    context: ContextDep,
) -> RedirectResponse:
    """Request that a unit starts, stops, restarts or resumes."""
    require_unit(unit, visitor)
    form = {"action": action.value, "reason": reason}
    return _run(request, stream_dag_id(unit), form, visitor, context)


@router.post("/intervals/{pipeline}/request", dependencies=writes)
def request_backfill(
    *,
    request: Request,
    pipeline: SpecName,
    asked: Annotated[BackfillForm, Form()],
    visitor: VisitorDep,
    context: ContextDep,
) -> RedirectResponse:
    """Request a backfill; its DAG says what is wrong with a range."""
    dag_id = backfill_dag_id(pipeline)
    if not visitor.readable([dag_id]):
        raise HTTPException(404, "There is no such pipeline, or it is not yours to see.")
    return _run(request, dag_id, asked.model_dump(mode="json", by_alias=True), visitor, context)


@router.post("/cases/{case_id}/replay", dependencies=writes)
def request_replay(request: Request, case_id: str, visitor: VisitorDep, context: ContextDep) -> RedirectResponse:
    """Request the replay of a case."""
    try:
        case = context.project.records.cases().get(case_id)
    except SpecError as error:
        raise HTTPException(404, "There is no such case, or it is not yours to see.") from error
    if not visitor.readable([backfill_dag_id(case.pipeline)]):
        raise HTTPException(404, "There is no such case, or it is not yours to see.")
    if not visitor.may_run(backfill_dag_id(case.pipeline)):
        raise HTTPException(403, "You may not start backfills of this pipeline.")
    return _run(request, REPLAY, {"case": case.id}, visitor, context)


@router.get("/requested/{dag_id}/{run_id}")
def requested(request: Request, dag_id: str, run_id: str, visitor: VisitorDep) -> HTMLResponse:
    """Say where to see what becomes of a request."""
    if not visitor.readable([dag_id]):
        raise HTTPException(404, "There is no such run, or it is not yours to see.")
    return page(request, "requested.html", dag_id=dag_id, run_id=run_id)


def _run(
    request: Request, dag_id: str, form: dict[str, Any], visitor: Visitor, context: ConsoleContext
) -> RedirectResponse:
    if context.runner is None or not visitor.may_run(dag_id):
        raise HTTPException(403, f"You may not start runs of {dag_id}.")
    run_id = context.runner.run(dag_id, form, by=visitor.name)
    return RedirectResponse(f"{base_of(request)}/requested/{quote(dag_id, safe='')}/{quote(run_id, safe='')}", 303)
