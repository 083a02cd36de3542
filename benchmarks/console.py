"""The console over a thousand streams: how long pages take, whether a route is open, what a browser complains of.

`sluice console` serves a project of 500 units with two streams each, whose past is on record. `page_ms_max` is the
slowest answer of all pages to a client on this machine, each asked 20 times after the first; what the first one took,
and a scrape of all metrics, is in the notes. `open_routes` counts the routes, of the console and of `sluice serve`,
that answer a stranger anything but 401. `browser_errors` counts what Chromium complains of, and pages that do not fit,
at 400 and 1,400 px in light and dark. `notify_p95_s` is how long it takes from a record that is sent to the service
that is alerted of it by `sluice serve`, of the slower of two rules.
"""

from __future__ import annotations

import re
import socket
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from benchmarks.notify_trial import seconds_to_tell
from sluice.alerts.dispatch import AlertDispatcher
from sluice.clock import SystemClock
from sluice.console.app import create_console
from sluice.console.context.access import Visitor
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve.server import ServerAddress, application
from tests.twins.console_fleet import LAGGING, ConsoleFleet, build_fleet, pipeline_of, topic_of
from tests.twins.console_server import served
from tests.verify.browser import running_browser

PAGES = (
    "/",
    "/?page=5",
    "/?q=0007",
    f"/streams/{pipeline_of(LAGGING)}",
    "/topics",
    f"/topics/{topic_of(3)}",
    "/intervals",
    f"/intervals/{pipeline_of(0)}?at=2013-01-20T23:00Z",
    "/quality",
    f"/quality/{pipeline_of(3)}",
    "/alerts",
    "/cost",
)
_SIZES = {"full": (500, 20, 200), "small": (10, 3, 10)}
_PER_SECOND = 3.7
"""Not in step with the trigger of a second."""


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and the times of each page."""
    units, times, records = _SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        fleet = build_fleet(Path(folder), units, SystemClock())
        with served(fleet) as address:
            first = _timed(address, PAGES[0])
            measured = {path: [_timed(address, path) for _ in range(times)] for path in PAGES}
            scrapes = [_timed(address, "/metrics") for _ in range(times)]
            errors = _complaints(address, Path(folder))
        open_routes = _open_routes(fleet)
    with tempfile.TemporaryDirectory() as folder:
        took, twice, never = seconds_to_tell(Path(folder), records, _PER_SECOND)
    assert not twice, f"{twice} records were alerted more than once"
    assert not never, f"{never} records were never alerted"
    slow = {rule: sorted(seconds)[int(0.95 * len(seconds))] for rule, seconds in took.items()}
    slowest = {path: max(found[1:]) for path, found in measured.items()}
    figures = {
        "page_ms_max": round(max(slowest.values()), 1),
        "open_routes": len(open_routes),
        "browser_errors": len(errors),
        "notify_p95_s": round(max(slow.values()), 2),
    }
    pages = {
        path: {"median": round(median(found[1:]), 1), "max": round(max(found[1:]), 1)}
        for path, found in measured.items()
    }
    notes = {"size": size, "streams": 2 * units, "first_page_ms": round(first, 1), "pages": pages}
    notes["scrape_ms"] = round(median(scrapes), 1)
    told = {rule: {"median": round(median(took[rule]), 2), "p95": round(slow[rule], 2)} for rule in took}
    return figures, {**notes, "errors": errors[:10], "open": open_routes, "told": told, "records": records}


def _timed(address: str, path: str) -> float:
    """Return how many milliseconds a page takes, with its last byte."""
    begun = time.perf_counter()
    with urllib.request.urlopen(address + path) as answer:  # noqa: S310  loopback
        answer.read()
    return (time.perf_counter() - begun) * 1000


def _open_routes(fleet: ConsoleFleet) -> list[str]:
    async def nobody(_request: Request) -> Visitor:
        raise HTTPException(401, "Not authenticated")

    fresh, place = (
        ReloadingProject(lambda: Project.open_strict(fleet.settings), place=lambda: fleet.settings),
        ServerAddress(socket.socket(), ""),
    )
    live = application(fresh.current, nobody, AlertDispatcher, place)
    return [f for app in (create_console(fresh, nobody), live) for f in _open_in(app)]


def _open_in(app: FastAPI) -> list[str]:
    client = TestClient(app, follow_redirects=False)  # what it follows does not begin
    routes = [(route, method) for route in app.routes for method in getattr(route, "methods", None) or ("GET",)]
    return [
        f"{method} {getattr(route, 'path', route)}"
        for route, method in routes
        if not isinstance(route, APIRoute)
        or client.request(method, re.sub(r"\{\w+\}", pipeline_of(3), route.path)).status_code != 401  # noqa: PLR2004
    ]


def _complaints(address: str, folder: Path) -> list[str]:
    found = []
    for width in (400, 1400):
        for dark in (False, True):
            with running_browser(folder / f"profile-{width}-{dark}") as browser:
                browser.collect_errors()
                browser.show_as(width=width, dark=dark)
                for path in PAGES:
                    browser.open(address + path)
                    browser.wait_for(f"document.readyState === 'complete' && location.href.endsWith({path!r})")
                    if browser.value("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                        found.append(f"{path} does not fit into {width} px")
                found += browser.errors
    return found
