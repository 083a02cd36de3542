"""A service that takes alerts: a real HTTP server on a free port of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import ThreadingHTTPServer
from typing import Any

from tests.http_servers import QuietHandler, answering


class Sink(ThreadingHTTPServer):
    """Keeps every JSON document that is posted to it, with path, headers and time; answers with `status`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.answer = b""
        self.received: list[dict[str, Any]] = []
        self.requests: list[tuple[str, Message]] = []
        self.times: list[float] = []

    @property
    def address(self) -> str:
        """Its Apprise address; the path is the kind of token that many services put there."""
        return f"json://127.0.0.1:{self.server_port}/path-token-8271"


class _Handler(QuietHandler):
    server: Sink

    def answer(self) -> None:
        self.server.times.append(time.time())
        self.server.received.append(json.loads(self.body()))
        self.server.requests.append((self.path, self.headers))
        moved = {"location": "/elsewhere"} if self.server.status in range(300, 400) else {}
        self.respond(self.server.status, self.server.answer, **moved)


@contextmanager
def running_sink() -> Iterator[Sink]:
    """Give a sink that listens, and close it."""
    sink = Sink()
    with answering(sink):
        yield sink
