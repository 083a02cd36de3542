"""A service that takes alerts: a real HTTP server on a free port of this machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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


class _Handler(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.times.append(time.time())
        self.server.received.append(json.loads(body))
        self.server.requests.append((self.path, self.headers))
        self.send_response(self.server.status)
        if self.server.status in range(300, 400):
            self.send_header("location", "/elsewhere")
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@contextmanager
def running_sink() -> Iterator[Sink]:
    """Give a sink that listens, and close it."""
    sink = Sink()
    thread = threading.Thread(target=sink.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        sink.shutdown()
        sink.server_close()
        thread.join()
