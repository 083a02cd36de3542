"""`sluice status`: is everything alive and right?"""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from sluice.cli.console import Output, OutputOption, out, print_json
from sluice.cli.verdict_view import styled
from sluice.errors import NotReadyError
from sluice.local.endpoints import read_endpoints
from sluice.local.stack import component_states
from sluice.project import Project
from sluice.settings import settings


def status(output: OutputOption = Output.TABLE) -> None:
    """Show the stack's components and every stream's verdict.

    Exit codes: 0 could look; 4 could not look at some of it.
    """
    project = Project.open_sound(settings())
    verdicts = {unit: project.verdicts(unit) for unit in project.catalog.units()}
    stack = _stack(project)
    if output is Output.JSON:
        streams = {
            s: {"unit": u, "verdict": v.health, "why": v.why} for u, found in verdicts.items() for s, v in found.items()
        }
        print_json({"stack": stack, "streams": streams})
        return
    table = Table("component", "state")
    for name, state in stack["components"].items():
        table.add_row(name, state)
    out.print(table)
    table = Table("stream", "unit", "verdict", "why", "what to do")
    for unit, found in verdicts.items():
        for stream, verdict in found.items():
            table.add_row(stream, unit, styled(verdict.health), escape(verdict.why), escape(verdict.what_to_do))
    out.print(table)


def _stack(project: Project) -> dict[str, Any]:
    if project.deployment.kafka.kind == "external":
        return {"components": {}}
    try:
        endpoints = read_endpoints(project.folder)
    except NotReadyError:
        return {"components": component_states(project.settings)}
    return {
        "airflow": endpoints.airflow_url,
        "kafka": list(endpoints.kafka_bootstrap),
        "spark": {"master": endpoints.spark_master, "page": endpoints.spark_page} if endpoints.spark_master else None,
        "components": component_states(project.settings),
    }
