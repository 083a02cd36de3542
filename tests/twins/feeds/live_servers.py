"""Servers of live events on this machine, one for each protocol, with the faults that a test wants."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve


@dataclass
class Script:
    """What a server has and does.

    Attributes:
        events: all that happened, as text.
        cuts: after so many events of a connection it breaks in the middle of the next one; one for each connection.
        answers: status and headers by which requests are refused, one for each.
        requests: path and headers of each request.
        sent: how many events were handed to the network.
        stopping: ends connections that wait.
    """

    events: list[str]
    cuts: list[int] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    sent: int = 0
    stopping: Event = field(default_factory=Event)

    def cut(self) -> int | None:
        return self.cuts.pop(0) if self.cuts else None


@contextmanager
def websocket_server(script: Script, port: int = 0, *, messages_first: int = 0) -> Iterator[int]:
    """Serve events as messages, from the `cursor` of the URL on (`time_us`); yield the port."""

    def refuse(_: ServerConnection, request: Request) -> Response | None:
        script.requests.append((request.path, {name.lower(): value for name, value in request.headers.raw_items()}))
        if not script.answers:
            return None
        status, headers = script.answers.pop(0)
        return Response(status, HTTPStatus(status).phrase, Headers({**headers, "Content-Length": "0"}), b"")

    def handle(connection: ServerConnection) -> None:
        for _ in range(messages_first):
            script.received.append(str(connection.recv()))
        cursor = parse_qs(urlsplit(connection.request.path if connection.request else "").query).get("cursor", ["0"])
        left = script.cut()
        try:
            for event in script.events:
                if event.startswith("{") and json.loads(event).get("time_us", 0) < int(cursor[0]):
                    continue
                if left == 0:
                    connection.send(_first_half(connection, event))
                connection.send(event)
                script.sent += 1
                left = None if left is None else left - 1
            script.stopping.wait()
        except (ConnectionClosed, OSError):
            pass

    with serve(handle, "127.0.0.1", port, process_request=refuse, compression=None) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.socket.getsockname()[1]
        finally:
            script.stopping.set()
            server.shutdown()


def _first_half(connection: ServerConnection, event: str) -> Iterator[str]:
    yield event[: len(event) // 2]
    connection.socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def sse_server(script: Script, *, ids: bool = True, kind: str = "text/event-stream", extra: str = "") -> Iterator[int]:
    """Serve events with their number as id, from the event of `Last-Event-ID` on, that one included; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers = script.answers.pop(0) if script.answers else (200, {"Content-Type": kind})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if status == HTTPStatus.OK:
                self._stream(int(self.headers.get("Last-Event-ID") or 0))

        def _stream(self, first: int) -> None:
            left = script.cut()
            self.wfile.write(f": hello\n{extra}\n".encode())
            for number, event in enumerate(script.events[first:], first):
                text = (f"id: {number}\n" if ids else "") + f"data: {event}\n\n"
                if left == 0:
                    self.wfile.write(text[: len(text) // 2].encode())
                    return
                self.wfile.write(text.encode())
                script.sent += 1
                left = None if left is None else left - 1
            while not script.stopping.wait(0.2):
                self.wfile.write(b":\n")

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client went away
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            script.stopping.set()
            server.shutdown()


@contextmanager
def line_server(connections: list[list[bytes]]) -> Iterator[int]:
    """Send each connection its pieces, and close it; the last one stays open. Yield the port."""
    stopping = Event()

    def handle(listening: socket.socket) -> None:
        for number, pieces in enumerate(connections, 1):
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            with connected:
                for piece in pieces:
                    connected.sendall(piece)
                if number == len(connections):
                    stopping.wait()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=handle, args=(listening,), daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            stopping.set()
