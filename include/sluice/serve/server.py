"""Puts the parts of `sluice serve` together, and runs them until the process is asked to end."""

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
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve.app import create_serve
from sluice.serve.hub import Hub
from sluice.serve.notifier import AlertNotifier
from sluice.serve.sources import open_source


@dataclass(frozen=True)
class ServerAddress:
    """The address of the service.

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
    dispatcher: Callable[[], AlertDispatcher],
    place: ServerAddress,
    clock: Clock | None = None,
) -> FastAPI:
    """Return the application; what it follows begins and ends with it.

    Args:
        project: opens the project.
        gate: admits visitors.
        dispatcher: returns a dispatcher with the present policy.
        place: where it is served.
        clock: gives the time.
    """
    clock = clock or SystemClock()
    notifier = AlertNotifier(dispatcher, place.page, clock)
    hub = Hub(ReloadingProject(project), open_source, notifier.notify, notifier.known, clock)

    @asynccontextmanager
    async def following(_: FastAPI) -> AsyncIterator[None]:
        hub.start()
        yield
        hub.stop()
        notifier.stop()

    app = create_serve(hub, gate, clock=clock)
    app.router.lifespan_context = following
    return app


def serve(
    place: ServerAddress, project: Callable[[], Project], gate: Gate, dispatcher: Callable[[], AlertDispatcher]
) -> None:
    """Serve until the process is asked to end."""
    app = application(project, gate, dispatcher, place)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, lifespan="on")
    uvicorn.Server(config).run(sockets=[place.listening])
