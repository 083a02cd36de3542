"""`sluice serve` as a web application: pages that move, answers by key, and server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from markupsafe import Markup

from sluice.clock import Clock, SystemClock
from sluice.console.context.access import Gate, Visitor, VisitorDep, current
from sluice.console.html.site import Site, page
from sluice.live.values import Value, as_text
from sluice.serve.events import events
from sluice.serve.hub import Hub, Live
from sluice.serve.page_events import page_events
from sluice.serve.pages import Pages, ServedPage

MAX_LISTENERS = 200
"""Connections that are kept open for events, each with a task and nothing that grows."""
SHOWN = 100
MAX_ANSWERED = 10_000
_OPTIONS = {"limit"}
STATIC = {
    **dict.fromkeys(("console.css", "charts.css", "charts.js", "icon.svg"), "sluice.console"),
    **dict.fromkeys(("serve.css", "serve.js", "page.js"), "sluice.serve"),
}
"""The files that pages load, with their package."""
_PAGE = "/{pipeline}"
_OUTPUT = "/{pipeline}/{output}"
_EVENTS = "events"
"""The last part of the address of a page's events. An output may have this name: its table is no stream of events."""

router = APIRouter()


@dataclass
class Serving:
    """The state that routes share.

    Attributes:
        hub: the outputs.
        pages: the pages of pipelines.
        listeners: number of clients of events.
    """

    hub: Hub
    pages: Pages
    listeners: int = field(default=0)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count a client while it is connected."""
        self.listeners += 1
        try:
            yield
        finally:
            self.listeners -= 1


def create_serve(hub: Hub, gate: Gate, *, clock: Clock | None = None) -> FastAPI:
    """Return the application for the outputs of a hub."""
    clock = clock or SystemClock()
    app = Site("sluice.serve", STATIC, clock).application(gate)
    app.state.serving = Serving(hub, Pages(hub))
    app.include_router(router)
    return app


def _serving(request: Request) -> Serving:
    return cast(Serving, request.app.state.serving)


def _one(request: Request, pipeline: str, output: str) -> Live:
    """Return the output that a path names, if the visitor may see it."""
    live = _serving(request).hub.find(pipeline, output)
    if live is None or not current(request).readable([live.dag_id]):
        raise HTTPException(404, "There is no such output, or it is not yours to see.")
    return live


def _page(request: Request, pipeline: str) -> ServedPage:
    """Return the page that a path names, if the visitor may see it."""
    found = _serving(request).pages.find(pipeline)
    if found is None or not current(request).readable([found.dag_id]):
        raise HTTPException(404, "There is no such page, or it is not yours to see.")
    return found


ServingDep = Annotated[Serving, Depends(_serving)]
LiveDep = Annotated[Live, Depends(_one)]
PageDep = Annotated[ServedPage, Depends(_page)]
Limit = Annotated[int, Query(ge=1, le=MAX_ANSWERED)]


@router.get("/")
def outputs(request: Request, visitor: VisitorDep, serving: ServingDep) -> HTMLResponse:
    """Show all outputs that the visitor may see."""
    lives, pages = _readable(visitor, serving.hub.lives()), _readable(visitor, serving.pages.all())
    return page(request, "outputs.html", lives=lives, pages=pages)


@router.get("/api")
def list_outputs(visitor: VisitorDep, serving: ServingDep) -> dict[str, Any]:
    """Return all outputs that the visitor may see, and how following each goes."""
    return {"outputs": [described(live) for live in _readable(visitor, serving.hub.lives())]}


@router.get(f"/api{_OUTPUT}")
def query(request: Request, live: LiveDep, limit: Limit = SHOWN) -> dict[str, Any]:
    """Return newest values, those that changed last first; further parameters are columns and the texts they have."""
    values, count = live.follower.values.find(_wanted(request), limit)
    return {**described(live), "found": count, "values": [as_answer(value) for value in values]}


@router.get(f"/api{_OUTPUT}/events")
async def listen(request: Request, live: LiveDep, serving: ServingDep, limit: Limit = SHOWN) -> StreamingResponse:
    """Send newest values as server-sent events: first the present values, then changes.

    A client that returns with the id of its last event gets the changes since then.
    """
    last = request.headers.get("last-event-id", "")
    return _streamed(serving, events(live, last, limit, _wanted(request), serving.listening()))


@router.get(_PAGE)
def show_page(request: Request, served: PageDep) -> HTMLResponse:
    """Show the page of a pipeline; its panels go on by events."""
    served.refresh()
    panels, number = served.since(-1)
    html = [Markup(html) for _, html in panels]  # noqa: S704 - the template of a panel escapes
    return page(request, "page.html", served=served, panels=html, number=number)


@router.get(f"{_PAGE}/{_EVENTS}", response_model=None)
async def listen_to_page(
    request: Request, serving: ServingDep, pipeline: str, since: str = "", form: str = ""
) -> Response:
    """Send the panels of a page as server-sent events, whenever they have changed.

    A client that returns with the id of its last event gets the panels that changed since then.
    """
    if "text/event-stream" not in request.headers.get("accept", "") and serving.hub.find(pipeline, _EVENTS):
        live = await asyncio.to_thread(_one, request, pipeline, _EVENTS)
        return await asyncio.to_thread(moving, request, live)
    served = await asyncio.to_thread(_page, request, pipeline)
    last = request.headers.get("last-event-id", "") or since
    return _streamed(serving, page_events(served, last, form, serving.listening()))


@router.get(_OUTPUT)
def moving(request: Request, live: LiveDep, limit: Limit = SHOWN) -> HTMLResponse:
    """Show the newest values of an output; the page goes on by events."""
    wanted = _wanted(request)
    values, count = live.follower.values.find(wanted, limit)
    columns = list(dict.fromkeys([*live.follower.values.keys, *(c for value in values for c in value.fields)]))
    return page(
        request,
        "live.html",
        live=live,
        columns=columns,
        rows=[(value, [as_text(value.fields.get(column, "")) for column in columns]) for value in values],
        count=count,
        limit=limit,
        wanted=wanted,
        query=request.url.query,
    )


def _streamed(serving: Serving, stream: AsyncIterator[bytes]) -> StreamingResponse:
    if serving.listeners >= MAX_LISTENERS:
        raise HTTPException(503, f"{MAX_LISTENERS} listen already; try again later, or request it without events")
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def described(live: Live) -> dict[str, Any]:
    """Return how following an output goes, as JSON values."""
    follower = live.follower
    condition = follower.condition
    return {
        "pipeline": live.pipeline.name,
        "output": live.name,
        "kind": live.output.kind,
        "keys": list(follower.values.keys),
        "values_held": len(follower.values),
        "values_forgotten": follower.values.forgotten,
        "unreadable": condition.unreadable,
        "trouble": condition.trouble,
        "trouble_since": _iso(condition.since),
        "read_at": _iso(condition.read_at),
        "rules": [
            {
                "name": rule.name,
                "rule": rule.words(),
                "holds_for": follower.rules.holding(rule.name),
                "fault": follower.rules.faults.get(rule.name, ""),
            }
            for rule in live.rules
        ],
    }


def as_answer(value: Value) -> dict[str, Any]:
    """Return a value as JSON values."""
    return {"key": list(value.key), "at": value.at.isoformat(), "fields": dict(value.fields)}


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _wanted(request: Request) -> Mapping[str, str]:
    return {name: text for name, text in request.query_params.items() if name not in _OPTIONS}


_Shown = TypeVar("_Shown", Live, ServedPage)


def _readable(visitor: Visitor, found: list[_Shown]) -> list[_Shown]:
    mine = set(visitor.readable({each.dag_id for each in found}))
    return [each for each in found if each.dag_id in mine]
