"""`sluice status`: the state of the stack and the health of all streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, as_json, emit, out, out_lines
from sluice.cli.views.objective_view import objective_table, objectives_as_dict, project_objectives
from sluice.cli.views.verdict_view import styled
from sluice.clock import SystemClock
from sluice.devstack.stack import component_states
from sluice.devstack.stack_faults import full_disk
from sluice.devstack.supervision import ProgramState
from sluice.errors import NotReadyError, UnreachableError
from sluice.launch.endpoints import read_endpoints
from sluice.launch.engine import WarmEngine
from sluice.mirrors.lag import MirrorVerdict
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.running_code import outdated
from sluice.streams.life.start_warnings import start_warnings
from sluice.streams.life.status import UnitStatus


def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=1, help="Seconds between two refreshes with --watch.")] = 5,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the stack, the verdicts of streams and mirrors, and error budgets; with --watch, keep the fleet on screen.

    Without a terminal, --watch prints a line for each verdict that changes; with -o json, an object.

    Exit codes: 0; 4 the control database did not answer.
    """
    project = Project.open_tolerant(settings())
    if watch:
        _watch(project, every, output)
        return
    verdicts = {unit: project.health.verdicts(unit) for unit in project.catalog.units()}
    statuses = [status for unit in verdicts if (status := _observed(project, unit)) is not None]
    notes = [*_disk_notes(project), *(note for status in statuses for note in _notes(project, status))]
    unwanted = [status.unit for status in statuses if status.never_requested]
    mirrors = {name: _mirror(project, name) for name in sorted(project.catalog.mirrors)}
    stack, objectives = _stack(project), project_objectives(project, SystemClock())
    streams = {s: _as_json(unit, verdict) for unit, own in verdicts.items() for s, verdict in own.items()}

    def print_status() -> None:
        _print_stack(stack, embedded=project.deployment.kafka.kind != "external")
        _print_streams({unit: own for unit, own in verdicts.items() if unit not in unwanted})
        _print_mirrors(mirrors)
        if objectives:
            out.print(objective_table(objectives))
        for note in notes:
            out_lines.print(note, style="yellow")
        if unwanted:
            names = ", ".join(unwanted)
            out_lines.print(f"Never started: {names}. `sluice streams start UNIT` starts one.", style="dim")

    of_streams = {"streams": streams, "objectives": objectives_as_dict(objectives)}
    of_mirrors = {name: asdict(verdict) for name, verdict in mirrors.items()}
    emit(output, {"stack": stack, **of_streams, "mirrors": of_mirrors, "notes": notes}, print_status)


def _disk_notes(project: Project) -> Iterator[str]:
    if project.deployment.kafka.kind == "embedded" and (full := full_disk(project.folder)) is not None:
        yield (
            f"The disk of {full} is full. Free some space: brokers and streams that stopped resume where they were, "
            "and `sluice up` starts a component that is FATAL."
        )


def _notes(project: Project, status: UnitStatus) -> Iterator[str]:
    """Yield what concerns a driver and no verdict says."""
    file = project.folder.unit_file(status.unit)
    if changed := outdated(status, file, project.code_of):
        yield changed
    yield from start_warnings(status, file)


def _as_json(unit: str, verdict: Verdict) -> dict[str, object]:
    settling = {} if verdict.settling is None else {"settling": asdict(verdict.settling)}
    return {"unit": unit, "verdict": verdict.health, "why": verdict.why, **settling}


def _print_stack(stack: dict[str, Any], *, embedded: bool) -> None:
    table = Table("component", "state")
    for name, state in stack["components"].items():
        table.add_row(name, state)
    if table.row_count:
        out.print(table)
    elif embedded:
        out_lines.print("The stack was never started. `sluice up` starts it.")


def _print_streams(verdicts: Mapping[str, Mapping[str, Verdict]]) -> None:
    table = Table("stream", "unit", "verdict", "why", "what to do")
    for unit, own in verdicts.items():
        for stream, verdict in own.items():
            table.add_row(stream, unit, styled(verdict.health), escape(verdict.why), escape(verdict.what_to_do))
    if table.row_count:
        out.print(table)


def _mirror(project: Project, name: str) -> MirrorVerdict:
    from sluice.project.mirroring.mirrors import ProjectMirrors  # noqa: PLC0415 - most projects have none

    try:
        return ProjectMirrors(project).verdict(name)[0]
    except UnreachableError as error:
        return MirrorVerdict(Health.UNKNOWN, error.message, error.fix)


def _print_mirrors(verdicts: Mapping[str, MirrorVerdict]) -> None:
    table = Table("mirror", "verdict", "why", "what to do")
    for name, verdict in verdicts.items():
        table.add_row(name, styled(verdict.health), escape(verdict.said), escape(verdict.what_to_do))
    if table.row_count:
        out.print(table)


def _observed(project: Project, unit: str) -> UnitStatus | None:
    try:
        return project.streams.life(unit).observe()
    except UnreachableError:  # the verdicts say so
        return None


def _watch(project: Project, every: float, output: Output) -> None:
    from sluice.cli.stack.fleet_watch import FleetMonitor, change_line, changed, watch_in_terminal  # noqa: PLC0415 - only this needs it

    monitor = FleetMonitor(project, SystemClock())
    with suppress(KeyboardInterrupt), closing(monitor):
        if out.is_terminal and not output.for_programs:
            watch_in_terminal(monitor, out, every)
        before: dict[str, Health] = {}
        while True:
            rows = monitor.rows()
            for row in changed(rows, before):
                out.write(f"{as_json(asdict(row)) if output.for_programs else change_line(row, monitor.clock.now())}\n")
            before = {row.stream: row.verdict.health for row in rows}
            monitor.clock.sleep(every)


def _stack(project: Project) -> dict[str, Any]:
    if project.deployment.kafka.kind == "external":
        return {"components": {}}
    components: dict[str, str] = dict(component_states(project.settings))
    if WarmEngine(project.folder.engines, project.clock).living() is not None:
        components["warm engine"] = ProgramState.RUNNING
    try:
        endpoints = read_endpoints(project.folder)
    except NotReadyError:
        return {"components": components}
    return {
        "airflow": endpoints.airflow_url,
        "kafka": list(endpoints.kafka_bootstrap),
        "spark": {"master": endpoints.spark_master, "page": endpoints.spark_page} if endpoints.spark_master else None,
        "components": components,
    }
