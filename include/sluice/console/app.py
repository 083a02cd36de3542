"""The console as a web application. Airflow mounts it behind its login; alone it serves this machine, without one."""

from __future__ import annotations

from fastapi import FastAPI

from sluice.clock import Clock, SystemClock
from sluice.console.context.access import Gate
from sluice.console.context.page_context import ConsoleContext, DagRunner
from sluice.console.html.rendering import console_site
from sluice.console.pages import (
    alerts,
    commands,
    cost,
    drivers,
    fleet,
    graph,
    intervals,
    metrics,
    objectives,
    proofs,
    quality,
    reports,
    streams,
    topics,
)
from sluice.project.reloading import ReloadingProject


def create_console(
    project: ReloadingProject, gate: Gate, *, runner: DagRunner | None = None, clock: Clock | None = None
) -> FastAPI:
    """Return the application; without a runner of DAGs it has no actions."""
    clock = clock or SystemClock()
    app = console_site(clock).application(gate)
    app.state.context = ConsoleContext(project, runner, clock)
    for pages in (
        fleet,
        graph,
        streams,
        drivers,
        topics,
        intervals,
        quality,
        objectives,
        proofs,
        alerts,
        cost,
        reports,
        metrics,
        commands,
    ):
        app.include_router(pages.router)
    return app
