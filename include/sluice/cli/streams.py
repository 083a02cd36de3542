"""`sluice streams`: what runs, how it does, and the wishes to start and stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.asker import asker
from sluice.cli.console import Output, OutputOption, err, out, print_json
from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.project import Project
from sluice.settings import settings
from sluice.streams.claim import Adopt
from sluice.streams.exits import explain_exit
from sluice.streams.launcher import DriverReport, DriverState
from sluice.streams.life import Claim, Sighting
from sluice.streams.registry import Attempt, AttemptState
from sluice.streams.verdict import Health, Verdict

app = typer.Typer(help="Start, stop and judge streams. Streams that share a driver are one unit.", no_args_is_help=True)

UnitArgument = Annotated[str, typer.Argument(help="The driver's name in the specs.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the record.")]
DeadlineOption = Annotated[float, typer.Option("--deadline", min=0, help="Seconds until a stop becomes a kill.")]

_ASKED = "asked on the command line"
_STYLES = {Health.OK: "green", Health.IDLE: "green", Health.STOPPED: "yellow", Health.UNKNOWN: "red"}
_FOLLOW_SECONDS = 0.3


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """Show every stream with its verdict.

    Exit codes: 0 every stream was judged, whatever the verdict; 2 the deployment is wrong.
    """
    project = Project.open_sound(settings())
    verdicts = {unit: project.verdicts(unit) for unit in project.catalog.units()}
    if output is Output.JSON:
        print_json({unit: {name: asdict(v) for name, v in streams.items()} for unit, streams in verdicts.items()})
        return
    table = _verdict_table("unit")
    for unit, streams in verdicts.items():
        for name, verdict in streams.items():
            table.add_row(unit, *_verdict_row(name, verdict))
    out.print(table)


@app.command()
def show(unit: UnitArgument, output: OutputOption = Output.TABLE) -> None:
    """Show a unit: the wish on record, its driver, the verdict of each stream, and all attempts.

    Exit codes: 0 it was shown; 2 there is no such unit; 4 the control database could not be asked.
    """
    project = Project.open_sound(settings())
    verdicts = project.verdicts(unit)
    sighting, attempts = project.life(unit).look(), project.registry().attempts(unit)
    if output is Output.JSON:
        print_json(
            {
                "unit": unit,
                "desired": sighting.desired and asdict(sighting.desired),
                "driver": sighting.report and asdict(sighting.report),
                "notes": sighting.notes,
                "streams": {name: asdict(verdict) for name, verdict in verdicts.items()},
                "attempts": [asdict(attempt) for attempt in attempts],
            }
        )
        return
    out.print(_headline(sighting), markup=False)
    table = _verdict_table()
    for name, verdict in verdicts.items():
        table.add_row(*_verdict_row(name, verdict))
    out.print(table)
    out.print(_timeline(attempts))


@app.command()
def start(unit: UnitArgument, why: WhyOption = _ASKED, output: OutputOption = Output.TABLE) -> None:
    """Ask for a unit to run, and start its driver; one that lives is adopted.

    Exit codes: 0 its driver lives; 1 it ended at once; 2 a spec is wrong; 4 it is not known whether a driver lives;
    5 a person must act first.
    """
    project = Project.open(settings())
    project.unit(unit)
    _tell_claim(unit, project.life(unit).start(asker(), why), output)


@app.command()
def stop(
    unit: UnitArgument,
    why: WhyOption = _ASKED,
    deadline: DeadlineOption = 60,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for a unit to stand still: its driver finishes and commits the batch that it is in, then ends.

    Exit codes: 0 no driver of it lives; 4 it is not known (the wish is on record, so repeat it).
    """
    project = Project.open_sound(settings())
    report = project.life(unit).stop(asker(), why, deadline)
    if output is Output.JSON:
        print_json(asdict(report))
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
    project = Project.open(settings())
    project.unit(unit)
    _tell_claim(unit, project.life(unit).restart(asker(), why, deadline), output)


@app.command("declare-dead")
def declare_dead(
    unit: UnitArgument,
    why: Annotated[str, typer.Option("--why", help="How you know that no driver of it lives.", prompt=True)],
) -> None:
    """Put on record that the latest attempt is dead although no launcher can prove it, so that the next may start.

    Make sure of it first. Should its driver live after all, the next generation's fence keeps it from committing.

    Exit codes: 0 it is on record; 5 the driver is seen alive, or nobody's word is needed.
    """
    attempt = Project.open_sound(settings()).life(unit).declare_dead(asker(), why)
    out.print(f"Generation {attempt.generation} of {unit} is on record as ended: {attempt.reason}.", markup=False)


@app.command()
def logs(
    unit: UnitArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the driver ends.")] = False,
    generation: Annotated[int | None, typer.Option(help="Omitted: the latest attempt.")] = None,
) -> None:
    """Print the output of a unit's driver.

    Exit codes: 0 it was printed; 3 there is no such attempt, or it has no log yet.
    """
    project = Project.open_sound(settings())
    attempts = project.registry().attempts(unit)
    attempt = next((a for a in attempts if generation in (None, a.generation)), None)
    if attempt is None:
        wanted = "attempt" if generation is None else f"generation {generation}"
        raise NotReadyError(f"{unit} has no {wanted}.", fix=f"run `sluice streams show {unit}`.")
    launcher = project.launcher()
    path = launcher.log(attempt.key)
    if not path.exists():
        raise NotReadyError(f"{attempt.key} has no log at {path}.", fix="see whether it was submitted.")
    err.print(f"{path}", markup=False, style="dim", soft_wrap=True)
    for text in tail(path, lambda: follow and not launcher.find(attempt.key).dead, SystemClock()):
        typer.echo(text, nl=False)


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
    if attempt is None:
        raise UnreachableError(
            f"{unit} was not started: {claim.why}. The wish is on record.",
            fix="the reconciler starts it as soon as that can be seen; or repeat the command.",
        )
    if output is Output.JSON:
        print_json({"unit": unit, "decision": type(claim.decision).__name__.lower(), "attempt": asdict(attempt)})
    else:
        found = "adopted" if isinstance(claim.decision, Adopt) else "started"
        out.print(f"{unit}: generation {attempt.generation} is {found}, because {claim.why}.", markup=False)
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


def _verdict_table(*leading: str) -> Table:
    table = Table(*leading, "stream", "verdict", box=None)
    table.add_column("batches", justify="right")
    table.add_column("unread", justify="right")
    table.add_column("why, and what to do")
    return table


def _verdict_row(stream: str, verdict: Verdict) -> tuple[str, ...]:
    style = _STYLES[verdict.health]
    advice = f" [dim]{escape(verdict.what_to_do)}[/dim]" if verdict.what_to_do else ""
    unread = "?" if verdict.lag_records is None else f"{verdict.lag_records:,}"
    return (
        stream,
        f"[{style}]{verdict.health}[/{style}]",
        f"{verdict.batches:,}",
        unread,
        f"{escape(verdict.why)}{advice}",
    )


def _timeline(attempts: Sequence[Attempt]) -> Table:
    table = Table("generation", "state", "reserved (UTC)", "started", "ended", "how it ended", box=None)
    for attempt in attempts:
        times = (attempt.intended_at, attempt.bound_at, attempt.ended_at)
        stamps = ["" if time is None else f"{time:%Y-%m-%d %H:%M:%S}" for time in times]
        table.add_row(str(attempt.generation), attempt.state.value, *stamps, escape(attempt.reason))
    return table
