"""Puts the parts of `sluice serve` together, and runs them until the process is asked to end."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI

from sluice.alerts.dispatch import AlertDispatcher
from sluice.clock import Clock, SystemClock
from sluice.console.context.access import Gate
from sluice.live.source import LiveSource
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve.app import create_serve
from sluice.serve.hub import Hub, LiveOutput
from sluice.serve.notifier import AlertNotifier
from sluice.settings import connection_url
from sluice.specs.model.access import Role
from sluice.specs.model.outputs import LatestOutput


@dataclass(frozen=True)
class ServerAddress:
    """The address of the service.

    Attributes:
        listening: a socket that listens.
        url: under which it is reached, for links in alerts.
        certificate: a file in PEM with private key and certificate, by which it encrypts; empty: it does not.
    """

    listening: socket.socket
    url: str
    certificate: str = ""

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
    """Return the application; what it follows begins and ends with it."""
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
    file = place.certificate or None
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
        ssl_certfile=file,
        ssl_keyfile=file,
    )
    uvicorn.Server(config).run(sockets=[place.listening])


def open_source(project: Project, output: LiveOutput) -> LiveSource:
    """Open the source of an output.

    Raises:
        SluiceError: it cannot be read now.
    """
    if not isinstance(output, LatestOutput):
        from sluice.kafka.live_records import KafkaLiveRecords  # noqa: PLC0415 - only what is served is imported

        return KafkaLiveRecords(project.kafka.bootstrap(), project.kafka.client(Role.SERVER), output.topic)
    if output.store == "postgres" and output.connection is not None:
        from sluice.postgres.latest import connect  # noqa: PLC0415 - the same
        from sluice.postgres.live_table import PostgresLiveTable  # noqa: PLC0415

        newest = partial(connection_url, output.connection)
        return PostgresLiveTable(connect(newest(), output.connection, newest), output.table)
    from sluice.delta.live_table import DeltaLiveTable  # noqa: PLC0415

    return DeltaLiveTable(project.folder.table(output.table))
