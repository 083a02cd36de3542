"""HTTP servers of tests: each runs in a thread of its own on a free port of this machine, until its block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from threading import Thread

import uvicorn
from fastapi import FastAPI

from tests.waiting import eventually

HOST = "127.0.0.1"


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing. Subclasses give `answer`, which is called for GET and POST."""

    def answer(self) -> None:
        """Answer the request."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def body(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def respond(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a whole response."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@contextmanager
def answering(server: TCPServer) -> Iterator[str]:
    """Let a server answer; give its host and port."""
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving_app(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Serve a web application; give its address."""
    config = uvicorn.Config(app, host=HOST, port=port, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        yield f"http://{HOST}:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
