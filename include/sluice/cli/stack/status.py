"""`sluice status`: is everything alive and right?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, as_json, out, out_lines, print_data
from sluice.cli.views.verdict_view import styled
from sluice.clock import SystemClock
from sluice.devstack.stack import component_states
from sluice.errors import NotReadyError, UnreachableError
from sluice.launch.endpoints import read_endpoints
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.health.verdict import Health, Verdict
from sluice.streams.life.running_code import outdated
from sluice.streams.life.sighting import Sighting


def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=1, help="Seconds between two looks of --watch.")] = 5,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the stack's components and every stream's verdict; with --watch, the fleet as it changes.

    Without a terminal --watch prints a line for each verdict that changes; with -o json, an object.

    Exit codes: 0 could look; 4 could not look at some of it.
    """
    project = Project.open_tolerant(settings())
    if watch:
        _watch(project, every, output)
        return
    verdicts = {unit: project.health.verdicts(unit) for unit in project.catalog.units()}
    sightings = {unit: _sighting(project, unit) for unit in verdicts}
    notes = [note for seen in sightings.values() if seen is not None and (note := _outdated_code(project, seen))]
    unwanted = [unit for unit, seen in sightings.items() if seen is not None and seen.never_wanted]
    stack = _stack(project)
    if output.for_programs:
        streams = {
            s: {"unit": u, "verdict": v.health, "why": v.why} for u, found in verdicts.items() for s, v in found.items()
        }
        print_data(output, {"stack": stack, "streams": streams, "notes": notes})
        return
    _tell_stack(stack, embedded=project.deployment.kafka.kind != "external")
    _tell_streams({unit: found for unit, found in verdicts.items() if unit not in unwanted})
    for note in notes:
        out_lines.print(note, style="yellow")
    if unwanted:
        out_lines.print(f"Never started: {', '.join(unwanted)}. `sluice streams start UNIT` starts one.", style="dim")


def _tell_stack(stack: dict[str, Any], *, embedded: bool) -> None:
    table = Table("component", "state")
    for name, state in stack["components"].items():
        table.add_row(name, state)
    if table.row_count:
        out.print(table)
    elif embedded:
        out_lines.print("The stack was never up; `sluice up` starts it.")


def _tell_streams(verdicts: Mapping[str, Mapping[str, Verdict]]) -> None:
    table = Table("stream", "unit", "verdict", "why", "what to do")
    for unit, found in verdicts.items():
        for stream, verdict in found.items():
            table.add_row(stream, unit, styled(verdict.health), escape(verdict.why), escape(verdict.what_to_do))
    if table.row_count:
        out.print(table)


def _sighting(project: Project, unit: str) -> Sighting | None:
    try:
        return project.streams.life(unit).look()
    except UnreachableError:  # the verdicts say so
        return None


def _outdated_code(project: Project, seen: Sighting) -> str:
    return outdated(seen, project.folder.unit_file(seen.unit), project.code_of)


def _watch(project: Project, every: float, output: Output) -> None:
    from sluice.cli.stack.fleet_watch import FleetLook, changes, watch_in_terminal  # noqa: PLC0415 - only this pays for it

    look = FleetLook(project, SystemClock())
    with suppress(KeyboardInterrupt), closing(look):
        if out.is_terminal and not output.for_programs:
            watch_in_terminal(look, out, every)
        before: dict[str, Health] = {}
        while True:
            rows = look.rows()
            if output.for_programs:
                changed = [row for row in rows if before.get(row.stream) is not row.verdict.health]
                out.write("".join(f"{as_json(asdict(row))}\n" for row in changed))
            else:
                out.write("".join(f"{line}\n" for line in changes(rows, before, look.clock.now())))
            before = {row.stream: row.verdict.health for row in rows}
            look.clock.sleep(every)


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
