"""`sluice demo`: the main job on real data, told step by step."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from sluice.cli.feed import open_project_feed, reporting
from sluice.cli.stack.demo_steps import FEED, PIPELINE, Demo
from sluice.cli.stack.example import demo_settings
from sluice.cli.terminal.output import err, out
from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.devstack.doctor import checks
from sluice.devstack.stack import down, up
from sluice.errors import NotReadyError, SluiceError
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Sending
from sluice.launch.endpoints import Endpoints, read_endpoints
from sluice.project.project import Project
from sluice.quality.census import Census
from sluice.settings import settings

_DAY = ["%Y-%m-%d"]
_FIRST, _LAST = (datetime(2013, 1, day) for day in (1, 7))  # noqa: DTZ001  calendar days


def demo(
    first: Annotated[datetime, typer.Option("--from", formats=_DAY, help="First local day.")] = _FIRST,
    last: Annotated[datetime, typer.Option("--to", formats=_DAY, help="Last local day, through its end.")] = _LAST,
    leave: Annotated[bool, typer.Option("--exit", help="Take the stack down at the end.")] = False,
) -> None:
    """Run the main job on real flights: stack, topics, stream, feed, backfill, quality gate, result.

    In a project that does not declare the flights it runs in a project of its own, in the state folder.

    Exit codes: 0 all came out as it should; 1 a step failed, or the numbers do not add up; 2 a spec or an argument is
    wrong; 3 this machine is not ready, or the stack did not start; 4 a part did not answer; 5 a step was refused.
    """
    asked = settings()
    project = Project.open(demo_settings(asked))
    if project.deployment.kafka.kind != "embedded":
        raise NotReadyError(
            f"the deployment {project.settings.deployment!r} uses an external Kafka; the demo brings its own.",
            fix="unset SLUICE_DEPLOYMENT.",
        )
    _refuse_unready(project)
    teller = _Teller()
    if project.settings.home != asked.home:
        teller.step(f"Use the example, a project of its own: {project.settings.home}")
        teller.note("There, `sluice status` shows its stack and `sluice down` takes it down.")
    story = Demo(
        project,
        teller,
        SystemClock(),
        up=lambda: up(project.settings, teller.part),
        send=lambda first, last, pace: _send(project, first, last, pace),
        take_census=lambda: _census(project),
    )
    try:
        report = story.run(first.date(), last.date(), seconds_to_feed=12)
        _show(project, report, read_endpoints(project.folder))
    finally:
        if leave:
            down(project.settings, teller.part)
    if not report["ok"]:
        raise SluiceError(f"the demo's numbers do not add up: {report}")


def _refuse_unready(project: Project) -> None:
    """Look before anything starts: a machine that lacks something is told so, with every fix at once."""
    failed = [check for check in checks(project.settings) if not check.ok]
    if failed:
        faults = "\n".join(f"  {check.name}: {check.found}. Fix: {check.fix}" for check in failed)
        raise NotReadyError(f"this machine is not ready for the demo:\n{faults}")


def _send(project: Project, first: date, last: date, pace: Pace) -> Sending:
    with open_project_feed(project, FEED) as feed, reporting(FEED) as report:
        return feed.send(first, last, pace=pace, report=report)


def _census(project: Project) -> Census:
    from sluice.spark.checks.feed_census import census_of_feed  # noqa: PLC0415  Spark is slow to import, and needed last

    return next(census for census in census_of_feed(project, FEED) if census.pipeline == PIPELINE)


class _Teller:
    """Tells the story on stderr; stdout is for the result."""

    def step(self, title: str) -> None:
        err.print(f"[bold]==> {title}[/bold]", soft_wrap=True)

    def note(self, text: str) -> None:
        err.print(f"    {text}", markup=False)

    def part(self, name: str, seconds: float | None) -> None:
        """Tell when a part of the stack is there."""
        if seconds is not None:
            self.note(f"{name}: {seconds:.1f} s")


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
    out.print(
        f"intervals   {intervals['closed']} closed, {intervals['published']} of them published by a backfill, "
        f"{intervals['dirty']} dirty",
        soft_wrap=True,
    )
    out.print(
        f"parity      verify: {parity['verify']}; correct: {parity['correct']}, {parity['late_records']} late records, "
        f"{parity['unexplained']} differences unexplained",
        soft_wrap=True,
    )
    out.print(f"quality     {quality['passed']} expectations passed, {quality['failed']} failed")
    seconds = ", ".join(f"{name} {value}" for name, value in report["seconds"].items())
    out.print(f"seconds     {seconds}", soft_wrap=True)
    out.print(f"Airflow     {endpoints.airflow_url}")
    for name, path in report["tables"].items():
        out.print(f"table       {name}: {path}", soft_wrap=True)
    out.print(f"report      {project.folder.demo}", soft_wrap=True)
