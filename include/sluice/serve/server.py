"""Puts the parts of `sluice serve` together, and runs them until the process is told to end."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI

from sluice.alerts.dispatch import AlertDispatcher
from sluice.clock import Clock, SystemClock
from sluice.console.context.access import Gate
from sluice.project.fresh import FreshProject
from sluice.project.project import Project
from sluice.serve.app import create_serve
from sluice.serve.hub import Hub
from sluice.serve.sources import open_source
from sluice.serve.telling import AlertNotifier


@dataclass(frozen=True)
class ServerAddress:
    """Where it is served.

    Attributes:
        listening: a socket that listens.
        url: under which it is reached, for links in alerts.
    """

    listening: socket.socket
    url: str

    def page(self, pipeline: str, output: str) -> str:
        """Return the address of an output's page."""
        return f"{self.url.rstrip('/')}/{quote(pipeline)}/{quote(output)}"


def application(
    project: Callable[[], Project],
    gate: Gate,
    desk: Callable[[], AlertDispatcher],
    place: ServerAddress,
    clock: Clock | None = None,
) -> FastAPI:
    """Return the application; what it follows begins and ends with it.

    Args:
        project: opens the project.
        gate: admits visitors.
        desk: returns where alerts are put on record and sent.
        place: where it is served.
        clock: gives the time.
    """
    clock = clock or SystemClock()
    teller = AlertNotifier(desk, place.page, clock)
    hub = Hub(FreshProject(project), open_source, teller.tell, teller.known, clock)

    @asynccontextmanager
    async def following(_: FastAPI) -> AsyncIterator[None]:
        hub.start()
        yield
        hub.stop()
        teller.stop()

    app = create_serve(hub, gate, clock=clock)
    app.router.lifespan_context = following
    return app


def serve(
    place: ServerAddress, project: Callable[[], Project], gate: Gate, desk: Callable[[], AlertDispatcher]
) -> None:
    """Serve until the process is told to end."""
    app = application(project, gate, desk, place)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, lifespan="on")
    uvicorn.Server(config).run(sockets=[place.listening])
