"""`sluice streams`: what runs, how it does, and the wishes to start and stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.heal import heal_
from sluice.cli.reset import epoch_lines, epochs_of, reset
from sluice.cli.terminal import completion
from sluice.cli.terminal.escaping import without_colours
from sluice.cli.terminal.output import Output, OutputOption, err, out, out_lines, print_data
from sluice.cli.terminal.requester import asker
from sluice.cli.views.availability_view import in_percent, promises
from sluice.cli.views.verdict_view import partition_table, print_verdicts
from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.failures.exits import explain_exit
from sluice.streams.failures.room import ADVICE, NoRoom
from sluice.streams.life.attempts import AttemptState
from sluice.streams.life.claim import Adopt
from sluice.streams.life.claimed import Claim
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.running_code import outdated
from sluice.streams.life.sighting import Sighting
from sluice.streams.life.timeline import Timeline, in_words

app = typer.Typer(help="Start, stop and judge streams. Streams that share a driver are one unit.", no_args_is_help=True)

UnitArgument = Annotated[str, typer.Argument(help="The driver's name in the specs.", autocompletion=completion.units)]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the record.")]
DeadlineOption = Annotated[float, typer.Option("--deadline", min=0, help="Seconds until a stop becomes a kill.")]

_ASKED = "asked on the command line"
_FOLLOW_SECONDS = 0.3


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """Show every stream with its verdict, and how much of the last 30 days it was available while it was wanted.

    Exit codes: 0 every stream was judged, whatever the verdict; 2 the deployment is wrong.
    """
    project = Project.open_tolerant(settings())
    verdicts = {unit: project.health.verdicts(unit) for unit in project.catalog.units()}
    kept = {unit: promises(project, unit, SystemClock().now()) for unit in verdicts}
    if output.for_programs:
        print_data(
            output,
            {
                unit: {name: asdict(v) | kept[unit].as_dict(name) for name, v in streams.items()}
                for unit, streams in verdicts.items()
            },
        )
        return
    rows = [
        (name, verdict, (unit, in_percent(kept[unit].availability.get(name))))
        for unit, streams in verdicts.items()
        for name, verdict in streams.items()
    ]
    print_verdicts(out, rows, "unit", "available")


@app.command()
def show(unit: UnitArgument, output: OutputOption = Output.TABLE) -> None:
    """Show a unit: the wish on record, its driver, each stream's verdict and availability, resets, attempts, what next.

    Exit codes: 0 it was shown; 2 there is no such unit; 4 the control database could not be asked.
    """
    project = Project.open_tolerant(settings())
    verdicts = project.health.verdicts(unit, closely=True)
    sighting, timeline = project.streams.life(unit).look(), project.streams.timeline(unit)
    changed = outdated(sighting, project.folder.unit_file(unit), project.code_of)
    kept, epochs = promises(project, unit, SystemClock().now()), epochs_of(project, verdicts)
    if output.for_programs:
        print_data(
            output,
            {
                "unit": unit,
                "desired": sighting.desired and asdict(sighting.desired),
                "driver": sighting.report and asdict(sighting.report),
                "notes": sighting.notes,
                "streams": {name: asdict(verdict) | kept.as_dict(name) for name, verdict in verdicts.items()},
                "epochs": {name: [asdict(epoch) for epoch in records] for name, records in epochs.items()},
                "attempts": [entry.as_dict() for entry in timeline.entries],
                "next": timeline.next,
                "halted": timeline.halted,
                "outdated": changed,
            },
        )
        return
    out.print(_headline(sighting), markup=False)
    print_verdicts(out, [(name, verdict, ()) for name, verdict in verdicts.items()])
    for name, verdict in verdicts.items():
        if verdict.lag_records:
            out.print(f"Unread by {name}:", markup=False)
            out.print(partition_table(verdict.partitions))
    if changed:
        out_lines.print(changed, style="yellow")
    for line in (*kept.lines(), *epoch_lines(epochs)):
        out.print(line, markup=False)
    _print_timeline(timeline)
    _print_details(sighting)


@app.command()
def start(unit: UnitArgument, why: WhyOption = _ASKED, output: OutputOption = Output.TABLE) -> None:
    """Ask for a unit to run, and start its driver; one that lives is adopted.

    Exit codes: 0 its driver lives; 1 it ended at once; 2 a spec is wrong; 3 its cluster has no room for it now, and the
    reconciler starts it when it has; 4 it is not known whether a driver lives; 5 a person must act first.
    """
    project = Project.open_strict(settings())
    project.catalog.unit(unit)
    _tell_claim(unit, project.streams.life(unit).start(asker(), why), output)


@app.command()
def stop(
    unit: UnitArgument,
    why: WhyOption = _ASKED,
    deadline: DeadlineOption = 60,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for a unit to stand still: its driver finishes and commits the batch that it is in, then ends.

    Exit codes: 0 no driver of it lives; 4 it is not known (the wish is on record, so repeat it); 5 its driver was
    started and cannot be found any more, so a person must look for it (the wish is on record).
    """
    project = Project.open_tolerant(settings())
    report = project.streams.life(unit).stop(asker(), why, deadline)
    if output.for_programs:
        print_data(output, asdict(report))
        return
    out.print(_end(unit, report), markup=False)


@app.command()
def restart(
    unit: UnitArgument,
    why: WhyOption = _ASKED,
    deadline: DeadlineOption = 60,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a unit's driver and start the next generation from the checkpoint.

    Exit codes: as for `start`.
    """
    project = Project.open_strict(settings())
    project.catalog.unit(unit)
    _tell_claim(unit, project.streams.life(unit).restart(asker(), why, deadline), output)


@app.command()
def resume(unit: UnitArgument, why: WhyOption = _ASKED, output: OutputOption = Output.TABLE) -> None:
    """Start a HALTED unit: on your word that what made it fail is repaired, or that the loss is accepted.

    Exit codes: as for `start`; 5 also if it is not HALTED.
    """
    project = Project.open_strict(settings())
    project.catalog.unit(unit)
    err.print(f"This overrides: {project.streams.timeline(unit).halted or 'nothing'}", markup=False)
    _tell_claim(unit, project.streams.life(unit).resume(asker(), why), output)


@app.command()
def force(
    unit: UnitArgument,
    why: Annotated[str, typer.Option("--why", help="How you know that no driver of it lives.", prompt=True)],
) -> None:
    """Put on record that the latest attempt is dead although no launcher can prove it, so that the next may start.

    Make sure of it first. Should its driver live after all, the next generation's fence keeps it from committing.

    Exit codes: 0 it is on record; 5 the driver is seen alive, or nobody's word is needed.
    """
    attempt = Project.open_tolerant(settings()).streams.life(unit).force(asker(), why)
    on_record = f"Generation {attempt.generation} of {unit} is on record as ended: {attempt.reason}."
    following = f"The reconciler starts the next one, if it is to run; `sluice streams start {unit}` does so at once."
    out.print(f"{on_record} {following}", markup=False)


@app.command()
def logs(
    unit: UnitArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the driver ends.")] = False,
    generation: Annotated[int | None, typer.Option(help="Omitted: the latest attempt.")] = None,
) -> None:
    """Print the output of a unit's driver.

    Exit codes: 0 it was printed; 3 there is no such attempt, or it has no log yet.
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
        raise NotReadyError(f"{attempt.key} has no log at {path}.", fix="see whether it was submitted.")
    err.print(f"{path}", markup=False, style="dim", soft_wrap=True)
    for text in tail(path, lambda: follow and not launcher.find(attempt.key).dead, SystemClock()):
        out.write(without_colours(text))


app.command()(reset)
app.command("heal")(heal_)


def tail(path: Path, more_to_come: Callable[[], bool], clock: Clock) -> Iterator[str]:
    """Yield a file's text, and what is appended while `more_to_come()` says so."""
    with path.open(encoding="utf-8", errors="replace") as file:
        while True:
            last_round = not more_to_come()  # asked before reading, so that the driver's last words are not missed
            if text := file.read():
                yield text
            if last_round:
                return
            clock.sleep(_FOLLOW_SECONDS)


def _tell_claim(unit: str, claim: Claim, output: Output) -> None:
    attempt = claim.attempt
    if isinstance(claim.decision, NoRoom):
        raise NotReadyError(f"{unit} was not started: {claim.why}. The wish is on record.", fix=f"{ADVICE}.")
    if attempt is None:
        raise UnreachableError(
            f"{unit} was not started: {claim.why}. The wish is on record.",
            fix="the reconciler starts it as soon as that can be seen; or repeat the command.",
        )
    if output.for_programs:
        decided = {"unit": unit, "decision": type(claim.decision).__name__.lower(), "attempt": asdict(attempt)}
        print_data(output, decided)
    else:
        started = f"started, as generation {attempt.generation} ({claim.why})"
        done = f"nothing was started: {claim.why}" if isinstance(claim.decision, Adopt) else started
        out_lines.print(f"{unit}: {done}.")
    if attempt.state is AttemptState.ENDED:
        raise SluiceError(
            f"generation {attempt.generation} of {unit} {attempt.reason}.", fix=f"run `sluice streams logs {unit}`."
        )


def _end(unit: str, report: DriverReport) -> str:
    if report.state is DriverState.ABSENT:
        return f"{unit} is stopped; it had no driver."
    return f"{unit} is stopped: {report.key} {explain_exit(report.exit_code)}."


def _headline(sighting: Sighting) -> str:
    wish, report = sighting.desired, sighting.report
    wanted = (
        "Nobody asked for it to run."
        if wish is None
        else (f"It shall be {wish.state}: {wish.by}, {wish.at:%Y-%m-%d %H:%M:%S} UTC ({wish.why}).")
    )
    if sighting.attempt is None:
        return f"{wanted} It never ran."
    if report is None:
        return f"{wanted} Its driver cannot be seen: {'; '.join(sighting.notes)}"
    pid = "" if report.pid is None else f" (pid {report.pid})"
    return f"{wanted} Its driver {report.key}{pid} is {report.state}."


def _print_timeline(timeline: Timeline) -> None:
    table = Table("generation", "started (UTC)", "lived", "ended", "class", "how it ended", box=None)
    for entry in timeline.entries:
        attempt = entry.attempt
        started, ended = ("" if t is None else f"{t:%Y-%m-%d %H:%M:%S}" for t in (entry.started_at, attempt.ended_at))
        row = (started, in_words(entry.lived), ended or f"({attempt.state})", entry.failure, escape(attempt.reason))
        table.add_row(str(attempt.generation), *row)
    out.print(table)
    for newest in timeline.entries[:1]:
        out.print(f"Log: {newest.log}", markup=False, soft_wrap=True)
        if newest.spark_ui:
            out.print(f"Spark UI: {newest.spark_ui}", markup=False, soft_wrap=True)
    if timeline.next:
        out.print(f"Next: {timeline.next}", markup=False, style="red" if timeline.halted else None, soft_wrap=True)


def _print_details(sighting: Sighting) -> None:
    if sighting.report is not None and (failure := sighting.report.failure) is not None and failure.details:
        out.print("All that it said:", markup=False)
        for line in failure.details.splitlines():
            out.print(line, markup=False, soft_wrap=True)
