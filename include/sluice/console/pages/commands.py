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
    """What the dialog of a backfill asks; the names are those of the form of its DAG."""

    since: str = Field(alias="from", min_length=1, max_length=40)
    until: str = Field(alias="to", min_length=1, max_length=40)
    mode: Mode
    only: Only
    reason: str = Field(min_length=1, max_length=500)


@router.post("/units/{unit}/ask", dependencies=writes)
def ask_unit(
    *,
    request: Request,
    unit: SpecName,
    action: Annotated[ConsoleCommand, Form()],
    reason: Reason,
    visitor: VisitorDep,
    context: ContextDep,
) -> RedirectResponse:
    """Ask a unit to start, stop, restart or resume."""
    require_unit(unit, visitor)
    form = {"action": action.value, "reason": reason}
    return _run(request, stream_dag_id(unit), form, visitor, context)


@router.post("/intervals/{pipeline}/ask", dependencies=writes)
def ask_backfill(
    *,
    request: Request,
    pipeline: SpecName,
    asked: Annotated[BackfillForm, Form()],
    visitor: VisitorDep,
    context: ContextDep,
) -> RedirectResponse:
    """Ask for a backfill; its DAG says what is wrong with a range."""
    dag_id = backfill_dag_id(pipeline)
    if not visitor.readable([dag_id]):
        raise HTTPException(404, "There is no such pipeline, or it is not yours to see.")
    return _run(request, dag_id, asked.model_dump(mode="json", by_alias=True), visitor, context)


@router.post("/cases/{case_id}/replay", dependencies=writes)
def ask_replay(request: Request, case_id: str, visitor: VisitorDep, context: ContextDep) -> RedirectResponse:
    """Ask for the replay of a case."""
    try:
        case = context.project.records.cases().get(case_id)
    except SpecError as error:
        raise HTTPException(404, "There is no such case, or it is not yours to see.") from error
    if not visitor.readable([backfill_dag_id(case.pipeline)]):
        raise HTTPException(404, "There is no such case, or it is not yours to see.")
    if not visitor.may_run(backfill_dag_id(case.pipeline)):
        raise HTTPException(403, "You may not start backfills of this pipeline.")
    return _run(request, REPLAY, {"case": case.id}, visitor, context)


@router.get("/asked/{dag_id}/{run_id}")
def asked(request: Request, dag_id: str, run_id: str, visitor: VisitorDep) -> HTMLResponse:
    """Say where to see what becomes of what was asked."""
    if not visitor.readable([dag_id]):
        raise HTTPException(404, "There is no such run, or it is not yours to see.")
    return page(request, "asked.html", dag_id=dag_id, run_id=run_id)


def _run(
    request: Request, dag_id: str, form: dict[str, Any], visitor: Visitor, context: ConsoleContext
) -> RedirectResponse:
    if context.runner is None or not visitor.may_run(dag_id):
        raise HTTPException(403, f"You may not start runs of {dag_id}.")
    run_id = context.runner.run(dag_id, form, by=visitor.name)
    return RedirectResponse(f"{base_of(request)}/asked/{quote(dag_id, safe='')}/{quote(run_id, safe='')}", 303)
