"""The reports of batches: files that were made once, shown as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse

from sluice.console.context.access import Visitor, VisitorDep
from sluice.console.context.page_context import ContextDep, SpecName
from sluice.project.project import Project
from sluice.specs.catalog.dag_ids import backfill_dag_id, quality_dag_id

router = APIRouter()

# Neither dot nor slash: no id leads out of the folder of backfills.
BackfillId = Annotated[str, PathParameter(pattern=r"^[a-z][A-Za-z0-9_-]{0,199}$")]

REPORT_HEADERS = {
    # A report holds values from data: none of them may run or load anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox",
}


@router.get("/backfills/{backfill_id}/parity")
def parity(backfill_id: BackfillId, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show the comparison that a backfill made."""
    return _of_backfill(context.project, backfill_id, visitor, "parity.html")


@router.get("/backfills/{backfill_id}/quality")
def quality(backfill_id: BackfillId, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show the result of a backfill's quality gate."""
    return _of_backfill(context.project, backfill_id, visitor, "quality.html")


@router.get("/quality/{pipeline}/report")
def table_quality(pipeline: SpecName, visitor: VisitorDep, context: ContextDep) -> HTMLResponse:
    """Show the newest result of the suite on a pipeline's published table."""
    if not visitor.readable([quality_dag_id(pipeline)]):
        raise HTTPException(404, _NONE)
    return _report(context.project.folder.quality(pipeline).with_suffix(".html"))


_NONE = "There is no such report: it was not made, has been removed, or is not yours to see."


def _of_backfill(project: Project, backfill_id: str, visitor: Visitor, name: str) -> HTMLResponse:
    pipeline, _, _ = backfill_id.partition("-")  # no name of a pipeline has one
    if not visitor.readable([backfill_dag_id(pipeline)]):
        raise HTTPException(404, _NONE)
    return _report(project.folder.backfill(backfill_id) / name)


def _report(file: Path) -> HTMLResponse:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise HTTPException(404, _NONE) from error
    return HTMLResponse(text, headers=REPORT_HEADERS)
