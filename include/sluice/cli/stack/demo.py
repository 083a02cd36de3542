"""`sluice demo`: run the main job on real data, step by step."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from sluice.cli.scaffold.examples import examples_folder
from sluice.cli.stack.example import demo_settings, scenario_settings
from sluice.cli.terminal import completion
from sluice.cli.terminal.output import err, err_lines, out, out_lines
from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.devstack.doctor import checks
from sluice.errors import NotReadyError, SluiceError
from sluice.launch.endpoints import Endpoints, read_endpoints
from sluice.project.project import Project
from sluice.settings import settings

_DAY = ["%Y-%m-%d"]
_FIRST, _LAST = (datetime(2013, 1, day) for day in (1, 7))  # noqa: DTZ001  calendar days


def demo(
    scenario: Annotated[
        str,
        typer.Argument(
            help="An example instead of the flights, such as trending.",
            show_default=False,
            autocompletion=completion.examples,
        ),
    ] = "",
    first: Annotated[
        datetime, typer.Option("--from", formats=_DAY, help="The first local day of the flights.")
    ] = _FIRST,
    last: Annotated[
        datetime, typer.Option("--to", formats=_DAY, help="The last local day of the flights, included.")
    ] = _LAST,
    leave: Annotated[bool, typer.Option("--exit", help="Stop the stack at the end.")] = False,
) -> None:
    """Run the main job on real flights: stack, topics, stream, feed, backfill, quality gate, result.

    With the name of an example, run that one: its feeds are sent within a minute, and its settled tables computed again
    by batch. An example, and the flights in a project that does not declare them, run in a project of their own, in the
    state folder.

    Exit codes: 0 the numbers add up; 1 a step failed, or they do not; 2 a spec or an argument is wrong; 3 this machine
    is not ready, or the stack did not start; 4 a component did not answer; 5 a step was refused.
    """
    current = settings()
    place = scenario_settings(current, scenario, examples_folder()) if scenario else demo_settings(current)
    project = Project.open_strict(place)
    _refuse_unready(project)
    if place.home != current.home:
        err.print(f"[bold]==> Use the example, a project of its own: {place.home}[/bold]", soft_wrap=True)
        err_lines.print("    There, `sluice status` shows its stack and `sluice down` stops it.")
    try:
        report = _scenario(project, keep=not leave) if scenario else _flights(project, first.date(), last.date())
    finally:
        if leave:
            _stop(project)
    if not report["ok"]:
        raise SluiceError(f"the demo's numbers do not add up: {report}")


def _stop(project: Project) -> None:
    from sluice.cli.stack.up import print_component  # noqa: PLC0415 - completion imports this module, and needs no Kafka
    from sluice.devstack.stack import down  # noqa: PLC0415 - the same

    down(project.settings, print_component)


def _scenario(project: Project, *, keep: bool) -> dict[str, Any]:
    from sluice.cli.stack.page_server import PageServer  # noqa: PLC0415 - the same
    from sluice.cli.stack.scenario_demo import ScenarioDemo, show_scenario  # noqa: PLC0415 - the same

    pages = PageServer(project)
    try:
        report = ScenarioDemo(project, SystemClock(), pages).run(seconds_to_feed=60)
        show_scenario(project, report)
        if keep:
            pages.wait()
    finally:
        pages.stop()
    return report


def _flights(project: Project, first: date, last: date) -> dict[str, Any]:
    from sluice.cli.stack.flights_demo import FlightsDemo  # noqa: PLC0415 - the same

    report = FlightsDemo(project, SystemClock()).run(first, last, seconds_to_feed=12)
    _show(project, report, read_endpoints(project.folder))
    return report


def _refuse_unready(project: Project) -> None:
    """Refuse before anything starts, with the fix of every failed check."""
    if project.deployment.kafka.kind != "embedded":
        raise NotReadyError(
            f"the deployment {project.settings.deployment!r} uses an external Kafka; the demo needs the embedded one.",
            fix="unset SLUICE_DEPLOYMENT.",
        )
    failed = [check for check in checks(project.settings) if not check.ok]
    if failed:
        faults = "\n".join(f"  {check.name}: {check.found}. Fix: {check.fix}" for check in failed)
        raise NotReadyError(f"this machine is not ready for the demo:\n{faults}")


def _show(project: Project, report: dict[str, Any], endpoints: Endpoints) -> None:
    frame = read_rows(project.folder.table("departures")).to_pandas()
    by_airport = frame.groupby("origin")[["departed", "cancelled", "delayed_15"]].sum()
    table = Table(title="Departures, from the interval table")
    for column in ("airport", "departed", "cancelled", "delayed 15 min or more"):
        table.add_column(column, justify="left" if column == "airport" else "right")
    for origin, row in by_airport.iterrows():
        table.add_row(str(origin), *(f"{int(value):,}" for value in row))
    out.print(table)
    stream, validation = report["stream"], report["validation"]
    out.print(f"stream      {stream['verdict']}, generation {stream['generation']}, {stream['batches']} batches")
    out.print("validation  " + ", ".join(f"{count:,} {name}" for name, count in validation.items()))
    intervals, parity, quality = report["intervals"], report["parity"], report["quality"]
    out_lines.print(
        f"intervals   {intervals['closed']} closed, {intervals['published']} of them published by a backfill, "
        f"{intervals['dirty']} dirty"
    )
    out_lines.print(
        f"parity      verify: {parity['verify']}; correct: {parity['correct']}, {parity['late_records']} late records, "
        f"{parity['unexplained']} differences unexplained"
    )
    out.print(f"quality     {quality['passed']} expectations passed, {quality['failed']} failed")
    seconds = ", ".join(f"{name} {value}" for name, value in report["seconds"].items())
    out_lines.print(f"seconds     {seconds}")
    out.print(f"Airflow     {endpoints.airflow_url}")
    for name, path in report["tables"].items():
        out_lines.print(f"table       {name}: {path}")
    out_lines.print(f"report      {project.folder.demo}")
