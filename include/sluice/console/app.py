"""The console as a web application. Airflow mounts it behind its login; alone it serves this machine, without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from sluice.clock import Clock, SystemClock
from sluice.console.context.access import Gate, Visitor
from sluice.console.context.commands import DagRunner
from sluice.console.context.page_context import ConsoleContext
from sluice.console.html.rendering import STATIC, page, static_file
from sluice.console.pages import (
    alerts,
    commands,
    cost,
    drivers,
    fleet,
    intervals,
    metrics,
    quality,
    reports,
    streams,
    topics,
)
from sluice.errors import SluiceError
from sluice.project.reloading import ReloadingProject

HEADERS = {
    # Nothing from elsewhere, nothing inline, nobody else's frame.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_KEPT = "private, max-age=31536000, immutable"


def create_console(
    project: ReloadingProject, gate: Gate, *, runner: DagRunner | None = None, clock: Clock | None = None
) -> FastAPI:
    """Return the application.

    Args:
        project: gives the specs and what is built from them.
        gate: admits visitors to every route there is.
        runner: carries out what visitors ask for; None: nobody may ask for anything.
        clock: gives the time.
    """

    # As a default: what an annotation names is looked up in the module, and the gate is not there.
    async def admit(request: Request, visitor: Visitor = Depends(gate)) -> None:  # noqa: B008 - see above
        request.state.visitor = visitor

    app = FastAPI(
        title="Sluice",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(admit)],
    )
    app.state.context = ConsoleContext(project, runner, clock or SystemClock())
    app.middleware("http")(_with_headers)
    app.add_exception_handler(SluiceError, _sluice_error)
    app.add_exception_handler(StarletteHTTPException, _http_error)
    app.get("/static/{name}")(static)
    for pages in (fleet, streams, drivers, topics, intervals, quality, alerts, cost, reports, metrics, commands):
        app.include_router(pages.router)
    return app


def static(name: str) -> Response:
    """Return a file that pages load."""
    if name not in STATIC:
        raise HTTPException(404, "there is no such file")
    return Response(static_file(name), media_type=STATIC[name], headers={"Cache-Control": _KEPT})


async def _with_headers(request: Request, following: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await following(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _sluice_error(request: Request, error: Exception) -> Response:
    """Answer with the sentence and its fix."""
    return error_response(request, 503, str(error))


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer with what was not found or is not allowed."""
    assert isinstance(error, StarletteHTTPException)  # noqa: S101 - this handler's
    return error_response(request, error.status_code, str(error.detail))


def error_response(request: Request, status: int, words: str) -> Response:
    """Return a page to a browser that was admitted, JSON to a program, and the bare words otherwise."""
    accepts = request.headers.get("accept", "")
    if "text/html" in accepts and hasattr(request.state, "visitor"):
        context: ConsoleContext = request.app.state.context
        return page(request, "message.html", now=context.clock.now(), status=status, title="Not shown", words=words)
    if "json" in accepts:
        return JSONResponse({"detail": words}, status)
    return PlainTextResponse(words, status)
