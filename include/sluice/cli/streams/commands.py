"""`sluice streams`: the health of streams, and requests to start and stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.streams.heal import heal_
from sluice.cli.streams.reset import epoch_lines, epochs_of, reset
from sluice.cli.terminal.arguments import DeadlineOption, UnitArgument, WhyOption
from sluice.cli.terminal.escaping import without_colours
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out, out_lines
from sluice.cli.terminal.user import requester
from sluice.cli.upgrades.command import upgrade
from sluice.cli.views.availability_view import in_percent, unit_service
from sluice.cli.views.claim_view import claim_as_dict, claim_in_words, refuse_ended
from sluice.cli.views.verdict_view import partition_table, print_verdicts
from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.settling.wording import settling_lines
from sluice.specs.catalog.catalog import Unit
from sluice.streams.failures.exits import explain_exit
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Desired
from sluice.streams.life.claimed import Claim
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.running_code import outdated
from sluice.streams.life.start_warnings import start_warnings
from sluice.streams.life.status import UnitStatus
from sluice.streams.life.timeline import Timeline, duration_text

app = typer.Typer(
    help="Start, stop and inspect streams. Streams that share a driver are one unit.", no_args_is_help=True
)

_REQUESTED = "requested on the command line"
_FOLLOW_SECONDS = 0.3


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List all streams with their verdicts, and their availability over the last 30 days.

    Availability is the share of the time in which the stream should have run.

    Exit codes: 0 whatever the verdicts; 2 the deployment is wrong.
    """
    project = Project.open_tolerant(settings())
    verdicts = {unit: project.health.verdicts(unit) for unit in project.catalog.units()}
    service = {unit: unit_service(project, unit, SystemClock().now()) for unit in verdicts}
    data = {
        unit: {name: asdict(v) | service[unit].as_dict(name) for name, v in streams.items()}
        for unit, streams in verdicts.items()
    }
    rows = [
        (name, verdict, (unit, in_percent(service[unit].availability.get(name))))
        for unit, streams in verdicts.items()
        for name, verdict in streams.items()
    ]
    emit(output, data, lambda: print_verdicts(out, rows, "unit", "available"))


@app.command()
def show(unit: UnitArgument, output: OutputOption = Output.TABLE) -> None:
    """Show a unit: desired state, driver, attempts and next step, and each stream's verdict, availability and resets.

    Exit codes: 0; 2 the unit does not exist; 4 the control database did not answer.
    """
    project = Project.open_tolerant(settings())
    verdicts = project.health.verdicts(unit, closely=True)
    status, timeline = project.streams.life(unit).observe(), project.streams.timeline(unit)
    file = project.folder.unit_file(unit)
    changed, warnings = outdated(status, file, project.code_of), start_warnings(status, file)
    service, epochs = unit_service(project, unit, SystemClock().now()), epochs_of(project, verdicts)
    data = {
        "unit": unit,
        "desired": status.desired and asdict(status.desired),
        "driver": status.report and asdict(status.report),
        "notes": status.notes,
        "streams": {name: asdict(verdict) | service.as_dict(name) for name, verdict in verdicts.items()},
        "epochs": {name: [asdict(epoch) for epoch in records] for name, records in epochs.items()},
        "attempts": [entry.as_dict() for entry in timeline.entries],
        "next": timeline.next,
        "halted": timeline.halted,
        "outdated": changed,
        "warnings": warnings,
    }

    def print_unit() -> None:
        out_lines.print(_headline(status))
        _print_streams(verdicts)
        for note in filter(None, (changed, *warnings)):
            out_lines.print(note, style="yellow")
        for line in (*service.lines(), *epoch_lines(epochs)):
            out_lines.print(line)
        _print_timeline(timeline)
        _print_details(status)

    emit(output, data, print_unit)


@app.command()
def start(unit: UnitArgument, why: WhyOption = _REQUESTED, output: OutputOption = Output.TABLE) -> None:
    """Request that a unit runs, and start its driver. A driver that is alive is adopted.

    Exit codes: 0 its driver is alive; 1 it ended at once; 2 a spec is wrong; 3 its cluster has no capacity, and the
    reconciler starts it when it has; 4 it is unknown whether a driver is alive; 5 a person must act first.
    """
    project = Project.open_strict(settings())
    declared = project.catalog.unit(unit)
    _emit_claim(project, declared, project.streams.life(unit).start(requester(), why), output)


@app.command()
def stop(
    unit: UnitArgument,
    why: WhyOption = _REQUESTED,
    deadline: DeadlineOption = 60,
    output: OutputOption = Output.TABLE,
) -> None:
    """Request that a unit stops: its driver finishes and commits the current batch, then ends.

    Exit codes: 0 no driver of it is alive; 4 that is unknown (the request is recorded; repeat the command); 5 its
    driver was started and can no longer be found, so a person must find it (the request is recorded).
    """
    project = Project.open_tolerant(settings())
    report = project.streams.life(unit).stop(requester(), why, deadline)
    emit(output, asdict(report), lambda: out_lines.print(_end(unit, report)))


@app.command()
def restart(
    unit: UnitArgument,
    why: WhyOption = _REQUESTED,
    deadline: DeadlineOption = 60,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a unit's driver and start the next generation from the checkpoint.

    Exit codes: as for `start`.
    """
    project = Project.open_strict(settings())
    declared = project.catalog.unit(unit)
    _emit_claim(project, declared, project.streams.life(unit).restart(requester(), why, deadline), output)


@app.command()
def resume(unit: UnitArgument, why: WhyOption = _REQUESTED, output: OutputOption = Output.TABLE) -> None:
    """Start a HALTED unit. You confirm that the cause of its failure is fixed, or that the loss is accepted.

    Exit codes: as for `start`; 5 also if it is not HALTED.
    """
    project = Project.open_strict(settings())
    declared = project.catalog.unit(unit)
    err_lines.print(f"This overrides: {project.streams.timeline(unit).halted or 'nothing'}")
    _emit_claim(project, declared, project.streams.life(unit).resume(requester(), why), output)


@app.command()
def force(
    unit: UnitArgument,
    why: Annotated[str, typer.Option("--why", help="How you know that its driver is dead.", prompt=True)],
) -> None:
    """Record that the latest attempt is dead although the launcher cannot prove it, so that the next one may start.

    Make sure of it first. If the driver is alive after all, the fence of the next generation prevents its commits.

    Exit codes: 0 it is recorded; 5 the driver is known to be alive or dead, or there is no attempt.
    """
    attempt = Project.open_tolerant(settings()).streams.life(unit).force(requester(), why)
    recorded = f"Generation {attempt.generation} of {unit} is recorded as ended: {attempt.reason}."
    following = f"The reconciler starts the next one if it should run; `sluice streams start {unit}` does so at once."
    out_lines.print(f"{recorded} {following}")


@app.command()
def logs(
    unit: UnitArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the driver ends.")] = False,
    generation: Annotated[int | None, typer.Option(help="Default: the latest attempt.")] = None,
) -> None:
    """Print the output of a unit's driver.

    Exit codes: 0; 3 the attempt does not exist, or has no log yet.
    """
    project = Project.open_tolerant(settings())
    attempts = project.records.registry().attempts(unit)
    attempt = next((a for a in attempts if generation in (None, a.generation)), None)
    if attempt is None:
        wanted = "attempt" if generation is None else f"generation {generation}"
        raise NotReadyError(f"{unit} has no {wanted}.", fix=f"run `sluice streams show {unit}`.")
    launcher = project.processes.launcher()
    path = launcher.log(attempt.key)
    if not path.exists():
        raise NotReadyError(
            f"{attempt.key} has no log at {path}.", fix="check with `sluice streams show` that it was submitted."
        )
    err_lines.print(f"{path}", style="dim")
    for text in tail(path, lambda: follow and not launcher.find(attempt.key).dead, SystemClock()):
        out.write(without_colours(text))


app.command()(reset)
app.command("heal")(heal_)
app.command()(upgrade)


def tail(path: Path, more_to_come: Callable[[], bool], clock: Clock) -> Iterator[str]:
    """Yield a file's text, and what is appended while `more_to_come()` is true."""
    with path.open(encoding="utf-8", errors="replace") as file:
        while True:
            last_round = not more_to_come()  # before reading, so that the driver's last lines are not missed
            if text := file.read():
                yield text
            if last_round:
                return
            clock.sleep(_FOLLOW_SECONDS)


def _emit_claim(project: Project, unit: Unit, claim: Claim, output: Output) -> None:
    waits_for = _raw_units_that_do_not_run(project, unit)

    def print_it() -> None:
        out_lines.print(claim_in_words(unit.name, claim))
        for raw in waits_for:
            out_lines.print(
                f"{unit.name} settles its intervals from what the unit {raw} stores, and nobody has requested {raw} to "
                f"run: `sluice streams start {raw}`."
            )

    emit(output, {**claim_as_dict(unit.name, claim), "waits_for_units": waits_for}, print_it)
    refuse_ended(unit.name, claim)


def _raw_units_that_do_not_run(project: Project, unit: Unit) -> list[str]:
    raw = project.catalog.raw_units_of(unit)
    desired = project.records.registry().newest_desired_states(raw)
    return [name for name in raw if name not in desired or desired[name].state is not Desired.RUNNING]


def _print_streams(verdicts: Mapping[str, Verdict]) -> None:
    print_verdicts(out, [(name, verdict, ()) for name, verdict in verdicts.items()])
    for name, verdict in verdicts.items():
        if verdict.lag_records:
            out_lines.print(f"Unread by {name}:")
            out.print(partition_table(verdict.partitions))
        if verdict.settling is not None:
            for line in settling_lines(verdict.settling, name):
                out_lines.print(f"{name}: {line}")


def _end(unit: str, report: DriverReport) -> str:
    if report.state is DriverState.ABSENT:
        return f"{unit} is stopped; it had no driver."
    return f"{unit} is stopped: {report.key} {explain_exit(report.exit_code)}."


def _headline(status: UnitStatus) -> str:
    desired, report = status.desired, status.report
    wanted = "Its start was never requested."
    if desired is not None:
        why = f" ({desired.why})" if desired.why else ""
        wanted = f"It should be {desired.state}: {desired.by}, {desired.at:%Y-%m-%d %H:%M:%S} UTC{why}."
    if status.attempt is None:
        return f"{wanted} It never ran."
    if report is None:
        return f"{wanted} Its driver could not be observed: {'; '.join(status.notes)}"
    pid = "" if report.pid is None else f" (pid {report.pid})"
    return f"{wanted} Its driver {report.key}{pid} is {report.state}."


def _print_timeline(timeline: Timeline) -> None:
    table = Table("generation", "started (UTC)", "duration", "ended", "class", "reason", box=None)
    for entry in timeline.entries:
        attempt = entry.attempt
        started, ended = ("" if t is None else f"{t:%Y-%m-%d %H:%M:%S}" for t in (entry.started_at, attempt.ended_at))
        ended, lived = ended or f"({attempt.state})", duration_text(entry.lived)
        table.add_row(str(attempt.generation), started, lived, ended, entry.failure, escape(attempt.reason))
    out.print(table)
    for newest in timeline.entries[:1]:
        out_lines.print(f"Log: {newest.log}")
        if newest.spark_ui:
            out_lines.print(f"Spark UI: {newest.spark_ui}")
    if timeline.next:
        out_lines.print(f"Next: {timeline.next}", style="red" if timeline.halted else None)


def _print_details(status: UnitStatus) -> None:
    if status.report is not None and (failure := status.report.failure) is not None and failure.details:
        out_lines.print("The full error:")
        for line in failure.details.splitlines():
            out_lines.print(line)
