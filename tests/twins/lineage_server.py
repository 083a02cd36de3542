"""An HTTP server that speaks as much of OpenLineage as its client does: it takes events, fails, or does not answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.http_servers import QuietHandler, answering


@dataclass
class LineageServer:
    """What came, and what it answers.

    Attributes:
        status: of every answer.
        may_answer: cleared, it takes requests and says nothing.
        asked: set by the first request.
        events: bodies that it took, in their order.
        keys: the logins that they came with.
    """

    status: int = 201
    may_answer: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    events: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    address: str = ""

    def __post_init__(self) -> None:
        self.may_answer.set()

    @property
    def types(self) -> list[tuple[str, str]]:
        return [(event["job"]["name"], event["eventType"]) for event in self.events]


@contextmanager
def lineage_server() -> Iterator[LineageServer]:
    """Serve on a free port of this machine."""
    found = LineageServer()

    class Handler(QuietHandler):
        def answer(self) -> None:
            body = self.body()
            found.asked.set()
            found.may_answer.wait()
            if found.status < 300 and self.path == "/api/v1/lineage":
                found.events.append(json.loads(body))
                found.keys.append(self.headers["Authorization"])
            self.respond(found.status)

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        found.address = f"http://{address}"
        try:
            yield found
        finally:
            found.may_answer.set()
