"""The pages of `sluice serve`, in the console's look: its style sheet, and one script that lets a table move."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

STATIC: Mapping[str, str] = {
    "console.css": "text/css",
    "icon.svg": "image/svg+xml",
    "serve.css": "text/css",
    "serve.js": "text/javascript",
}
"""Files that pages load, and their types. All are ours; nothing comes from elsewhere."""

_OF_THE_CONSOLE = {"console.css", "icon.svg"}


def static_file(name: str) -> bytes:
    """Return a file that pages load."""
    room = "sluice.console" if name in _OF_THE_CONSOLE else "sluice.serve"
    return (files(room) / "static" / name).read_bytes()


def render(request: Request, template: str, *, now: datetime, status: int = 200, **context: Any) -> HTMLResponse:  # noqa: ANN401 - whatever the template names
    """Return a page.

    Args:
        request: what is answered.
        template: a file in `serve/templates/`.
        now: the present (UTC).
        status: of the answer.
        **context: what the template names.
    """
    text = (
        _environment()
        .get_template(template)
        .render(
            base=str(request.scope.get("root_path", "")).rstrip("/"),
            visitor=request.state.visitor,
            now=now,
            status=status,
            digest=_digest(),
            **context,
        )
    )
    return HTMLResponse(text, status)


@cache
def _digest() -> str:
    return hashlib.sha256(b"".join(static_file(name) for name in STATIC)).hexdigest()[:12]


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("sluice.serve"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["clock"] = lambda at: "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
    return found
