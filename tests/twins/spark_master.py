"""A Spark master's page on loopback: the JSON of a real one, with workers and applications that a test decides on."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

MASTER = "spark://127.0.0.1:7077"


def worker(*, used: int = 0, cores: int = 1, memory: int = 1024, free_mb: int | None = None) -> dict[str, Any]:
    """Return a worker as a master lists it."""
    free = memory - 700 * used if free_mb is None else free_mb
    return {
        "id": "worker-20130101000000-127.0.0.1-40001",
        "host": "127.0.0.1",
        "port": 40001,
        "webuiaddress": "http://127.0.0.1:40002",
        "cores": cores,
        "coresused": used,
        "coresfree": cores - used,
        "memory": memory,
        "memoryused": memory - free,
        "memoryfree": free,
        "state": "ALIVE",
        "lastheartbeat": 1_357_000_000_000,
    }


def application(name: str, cores: int, state: str = "RUNNING") -> dict[str, Any]:
    """Return an application as a master lists it."""
    return {"id": "app-20130101000000-0000", "name": name, "cores": cores, "state": state, "memoryperexecutor": 700}


@dataclass
class MasterPage:
    """What the page says. `raw` replaces it as a whole; `moved` sends whoever asks elsewhere."""

    workers: list[dict[str, Any]] = field(default_factory=lambda: [worker(), worker()])
    applications: list[dict[str, Any]] = field(default_factory=list)
    status: str = "ALIVE"
    raw: bytes | None = None
    moved: str = ""
    address: str = ""
    asked: int = 0

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        cluster = {"url": MASTER, "workers": self.workers, "activeapps": self.applications, "status": self.status}
        return json.dumps({**cluster, "cores": len(self.workers), "completedapps": []}).encode()


@contextmanager
def serving(page: MasterPage, encryption: ssl.SSLContext | None = None) -> Iterator[MasterPage]:
    """Serve a page, encrypted if that is given, and put its address into it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page.asked += 1
            self.send_response(302 if page.moved else 200 if self.path == "/json/" else 404)
            if page.moved:
                self.send_header("Location", page.moved)
            self.end_headers()
            self.wfile.write(page.body())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that is refused is no fault of ours
    if encryption is not None:
        server.socket = encryption.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    scheme = "http" if encryption is None else "https"
    page.address = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    try:
        yield page
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
