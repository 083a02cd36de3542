"""A web application of ours: behind a gate, with the templates and static files of one package, and strict headers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from pathlib import PurePath
from typing import Any, cast

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from sluice.clock import Clock
from sluice.console.context.access import Gate, Visitor
from sluice.errors import SluiceError
from sluice.reports.page import templates

_HEADERS = {
    # Nothing from elsewhere, nothing inline, and no frame of another origin.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_IMMUTABLE = "private, max-age=31536000, immutable"


class Site:
    """The pages of one package.

    Args:
        package: has the templates.
        static: the files that pages load, each with the package that has it. All are ours; none comes from elsewhere.
        clock: gives the time of every page.
        filters: further filters of the templates.
        variables: further variables of the templates.
    """

    def __init__(
        self,
        package: str,
        static: Mapping[str, str],
        clock: Clock,
        *,
        filters: Mapping[str, Any] | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        self.clock = clock
        self._static = static
        self._templates = templates(package)
        self._templates.filters.update({"clock": _clock, "iso": datetime.isoformat, **(filters or {})})
        self._templates.globals.update(variables or {})

    def application(self, gate: Gate) -> FastAPI:
        """Return an application that has the static files; every route in it is behind the gate."""

        # As a default: FastAPI looks up the names in annotations in the module, which does not have this gate.
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
        app.state.site = self
        app.add_middleware(_Headers)
        app.add_exception_handler(SluiceError, _sluice_error)
        app.add_exception_handler(StarletteHTTPException, _http_error)
        app.get("/static/{name}")(self.static_file)
        return app

    def static_file(self, name: str) -> Response:
        """Return a file that pages load."""
        if name not in self._static:
            raise HTTPException(404, "there is no such file")
        kind = _TYPES[PurePath(name).suffix]
        return Response(self._content(name), media_type=kind, headers={"Cache-Control": _IMMUTABLE})

    def render(self, request: Request, template: str, **context: Any) -> str:  # noqa: ANN401 - the template's
        """Return a page as HTML."""
        here = request.scope["path"].removeprefix(request.scope.get("root_path", "")).strip("/")
        return self._templates.get_template(template).render(
            base=base_of(request),
            here=here.partition("/")[0],
            visitor=request.state.visitor,
            now=self.clock.now(),
            digest=self._digest,
            **context,
        )

    def render_alone(self, template: str, **context: Any) -> str:  # noqa: ANN401 - the template's
        """Return a page that is no answer to a request, as HTML."""
        return self._templates.get_template(template).render(**context)

    def static_text(self, name: str) -> str:
        """Return the text of a file that pages load, for one that loads nothing."""
        return self._content(name).decode()

    @cached_property
    def _digest(self) -> str:
        """The state of the static files: a browser keeps them until it changes."""
        return hashlib.sha256(b"".join(map(self._content, self._static))).hexdigest()[:12]

    def _content(self, name: str) -> bytes:
        return (files(self._static[name]) / "static" / name).read_bytes()


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:  # noqa: ANN401 - the same
    """Return a page of the application that a request reached, from a template of its package and the names in it."""
    return HTMLResponse(cast(Site, request.app.state.site).render(request, template, **context), status)


def base_of(request: Request) -> str:
    """Return the path below which an application is served, without a slash at its end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


async def _sluice_error(request: Request, error: Exception) -> Response:
    return _error_response(request, 503, str(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)  # noqa: S101 - this handler's
    return _error_response(request, error.status_code, str(error.detail))


def _error_response(request: Request, status: int, words: str) -> Response:
    """Return a page to a browser that was admitted, JSON to a program, and plain text otherwise."""
    accepts = request.headers.get("accept", "")
    if "text/html" in accepts and hasattr(request.state, "visitor"):
        return page(request, "message.html", status=status, words=words)
    if "json" in accepts:
        return JSONResponse({"detail": words}, status)
    return PlainTextResponse(words, status)


def _clock(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


class _Headers:
    """Adds headers to every answer.

    As plain ASGI: FastAPI's own kind of middleware would stand between events and a client that has gone.
    """

    def __init__(self, app: Any) -> None:  # noqa: ANN401 - an ASGI application
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's
        async def send_with_headers(message: Any) -> None:  # noqa: ANN401 - the same
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                more = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(each for each in more if each[0] not in known)]
            await send(message)

        await self._app(scope, receive, send_with_headers)
