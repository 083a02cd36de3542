"""Read-only pages inside Airflow's web server and behind its login: a unit's driver, and the reports of batches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import requires_access_view
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse

from sluice.airflow.runtime import open_project
from sluice.errors import SluiceError
from sluice.project import Project
from sluice.specs.spec import NAME_PATTERN
from sluice.streams.registry import Attempt
from sluice.streams.spark_ui import spark_ui_address

LOG_BYTES = 64 * 1024

UnitName = Annotated[str, PathParameter(pattern=NAME_PATTERN)]
PipelineName = Annotated[str, PathParameter(pattern=NAME_PATTERN)]
# Neither dot nor slash: no id leads out of the folder of backfills.
BackfillId = Annotated[str, PathParameter(pattern=r"^[a-z][A-Za-z0-9_-]{0,199}$")]

REPORT_HEADERS = {
    # A report holds what was found in data: whatever that is, it runs nothing and loads nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

app = FastAPI(
    title="Sluice",
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    dependencies=[Depends(requires_access_view(AccessView.WEBSITE))],  # a mounted app has no protection of its own
)


@app.exception_handler(401)
async def send_to_login(request: Request, error: HTTPException) -> Response:
    """Show the login page to a browser, and the bare truth to a program."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse(get_auth_manager().get_url_login(next_url=str(request.url)), 303)
    return JSONResponse({"detail": error.detail}, 401, headers={"WWW-Authenticate": "Bearer"})


@app.exception_handler(SluiceError)
async def say_why(_: Request, error: SluiceError) -> Response:
    """Answer with the sentence and its fix."""
    return PlainTextResponse(str(error), 503)


@app.get("/units/{unit}/spark-ui")
def spark_ui(unit: UnitName) -> RedirectResponse:
    """Redirect to the Spark UI of the newest generation."""
    project = open_project()
    address = spark_ui_address(project.folder.progress, unit, _newest(project, unit).generation)
    if address is None:
        raise HTTPException(404, f"The driver of {unit} has not reported a Spark UI yet: its first batch is not done.")
    return RedirectResponse(address, 307)


@app.get("/units/{unit}/log")
def log(unit: UnitName) -> PlainTextResponse:
    """Show the end of the newest generation's log."""
    project = open_project()
    file = project.launcher().log(_newest(project, unit).key)
    if not file.is_file():
        raise HTTPException(404, f"The driver of {unit} has written no log yet.")
    return PlainTextResponse(last_lines(file))


@app.get("/backfills/{backfill_id}/parity")
def parity(backfill_id: BackfillId) -> HTMLResponse:
    """Show the comparison that a backfill made."""
    return _report(open_project().folder.backfill(backfill_id) / "parity.html")


@app.get("/backfills/{backfill_id}/quality")
def quality(backfill_id: BackfillId) -> HTMLResponse:
    """Show the result of a backfill's quality gate."""
    return _report(open_project().folder.backfill(backfill_id) / "quality.html")


@app.get("/quality/{pipeline}")
def table_quality(pipeline: PipelineName) -> HTMLResponse:
    """Show the newest result of the suite on a pipeline's published table."""
    return _report(open_project().folder.quality(pipeline).with_suffix(".html"))


def _report(file: Path) -> HTMLResponse:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise HTTPException(404, "There is no such report: it was not made, or has been removed.") from error
    return HTMLResponse(text, headers=REPORT_HEADERS)


def last_lines(file: Path, most_bytes: int = LOG_BYTES) -> str:
    """Return the whole lines within the last bytes of a file."""
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - most_bytes))
        text = opened.read()
    if size > most_bytes:
        text = text.partition(b"\n")[2]
    return text.decode(errors="replace")


def _newest(project: Project, unit: str) -> Attempt:
    attempt = project.registry().latest_attempt(unit)
    if attempt is None:
        raise HTTPException(404, f"{unit} never had a driver.")
    return attempt
