"""A unit's driver: its Spark UI and its log."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from fastapi.responses import PlainTextResponse, RedirectResponse

from sluice.console.context.access import VisitorDep
from sluice.console.context.log_tail import last_lines
from sluice.console.context.page_context import ContextDep, SpecName
from sluice.console.pages.streams import require_unit
from sluice.project.project import Project
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.driver_files import spark_ui_address

router = APIRouter()


@router.get("/units/{unit}/spark-ui")
def spark_ui(unit: SpecName, visitor: VisitorDep, context: ContextDep) -> RedirectResponse:
    """Redirect to the Spark UI of the newest generation."""
    require_unit(unit, visitor)
    project = context.project
    address = spark_ui_address(project.folder.progress, unit, _newest(project, unit).generation)
    if address is None:
        raise HTTPException(404, f"The driver of {unit} has not reported a Spark UI yet: its first batch is not done.")
    return RedirectResponse(address, 307)


@router.get("/units/{unit}/log")
def log(unit: SpecName, visitor: VisitorDep, context: ContextDep) -> PlainTextResponse:
    """Show the end of the newest generation's log."""
    require_unit(unit, visitor)
    project = context.project
    file = project.processes.launcher().log(_newest(project, unit).key)
    if not file.is_file():
        raise HTTPException(404, f"The driver of {unit} has written no log yet.")
    return PlainTextResponse(last_lines(file))


def _newest(project: Project, unit: str) -> Attempt:
    attempt = project.records.registry().latest_attempt(unit)
    if attempt is None:
        raise HTTPException(404, f"{unit} never had a driver.")
    return attempt
