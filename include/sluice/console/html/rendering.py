"""Templates into pages: whatever comes from outside is escaped, and a name that nobody gave is an error."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from sluice.console.context.access import Visitor
from sluice.console.html.charts import HEIGHT, WIDTH, number_text
from sluice.streams.health.health import FINE, Health
from sluice.streams.life.timeline import duration_text

NAVIGATION = (
    ("", "Fleet"),
    ("topics", "Topics"),
    ("intervals", "Intervals"),
    ("quality", "Quality"),
    ("alerts", "Alerts"),
    ("cost", "Cost"),
)

STATIC: Mapping[str, str] = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Files that pages load, and their types. All are ours; nothing comes from elsewhere."""


def page(request: Request, template: str, *, now: datetime, status: int = 200, **context: Any) -> HTMLResponse:  # noqa: ANN401 - whatever the template names
    """Return a page.

    Args:
        request: what is answered.
        template: a file in `console/templates/`.
        now: the present (UTC), which ages on the page are counted to.
        status: of the answer.
        **context: what the template names.
    """
    visitor: Visitor = request.state.visitor
    here = request.scope["path"].removeprefix(request.scope.get("root_path", "")).strip("/")
    text = (
        environment()
        .get_template(template)
        .render(
            base=base_of(request),
            here=here.partition("/")[0],
            visitor=visitor,
            now=now,
            digest=digest(),
            **context,
        )
    )
    return HTMLResponse(text, status)


def base_of(request: Request) -> str:
    """Return the path below which the console is served, without a slash at its end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def static_file(name: str) -> bytes:
    """Return a file that pages load."""
    return (files("sluice.console") / "static" / name).read_bytes()


@cache
def digest() -> str:
    """Name the present state of these files: a browser keeps them until it changes."""
    return hashlib.sha256(b"".join(static_file(name) for name in STATIC)).hexdigest()[:12]


@cache
def environment() -> Environment:
    """Return the templates with their words for numbers and times."""
    found = Environment(
        loader=PackageLoader("sluice.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        number=number_text,
        whole=_whole,
        seconds=_seconds,
        ago=_ago,
        clock=_clock,
        tone=tone_of,
        iso=lambda at: at.isoformat(),
    )
    found.globals.update(navigation=NAVIGATION, chart_width=WIDTH, chart_height=HEIGHT)
    return found


_SHORT = 10
"""Seconds below which a digit behind the point says something."""


def tone_of(health: Health) -> str:
    """Return the class of a verdict's colour. Its word is always written beside it."""
    if health in FINE:
        return "good"
    return "warning" if health in {Health.LAGGING, Health.STOPPED} else "bad"


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    """Return a duration in words; less than a minute with one digit where that says something."""
    if value is None:
        return ""
    if value < _SHORT:
        return f"{value:.1f} s"
    return duration_text(timedelta(seconds=round(value)))


def _ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return ""
    return f"{duration_text(max(timedelta(0), now - at))} ago"


def _clock(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
