"""`sluice mirror`: start, stop and watch mirrors, and rehearse or make a fail-over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sluice.cli.streams.reset import parse_target
from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import UnitArgument, WhyOption, YesOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.cli.terminal.user import confirm, requester
from sluice.cli.views.claim_view import claim_as_dict, claim_in_words
from sluice.cli.views.verdict_view import styled
from sluice.devstack.supervision import last_lines
from sluice.errors import RefusedError, SluiceError, SpecError
from sluice.mirrors.report import FailoverReport
from sluice.project.mirroring.failover import Failover
from sluice.project.mirroring.mirrors import ProjectMirrors
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.life.attempts import AttemptState

app = typer.Typer(help="Copy topics into another cluster, and move streams there.", no_args_is_help=True)

MirrorArgument = Annotated[
    str, typer.Argument(metavar="MIRROR", help="A mirror of the specs.", autocompletion=completion.mirrors)
]
_REQUESTED = "requested on the command line"


@app.command()
def status(output: OutputOption = Output.TABLE) -> None:
    """Show each mirror's verdict: whether its process runs, and how far it is behind.

    Exit codes: 0 whatever the verdicts; 4 the control database did not answer.
    """
    mirrors = _open()
    verdicts = {name: mirrors.verdict(name)[0] for name in sorted(mirrors.project.catalog.mirrors)}
    table = Table("mirror", "from", "to", "verdict", "why", "what to do")
    for name, found in verdicts.items():
        spec = mirrors.spec(name)
        table.add_row(
            name, spec.source, spec.target, styled(found.health), escape(found.said), escape(found.what_to_do)
        )
    emit(output, {name: asdict(found) for name, found in verdicts.items()}, lambda: out.print(table))


@app.command()
def lag(name: MirrorArgument, output: OutputOption = Output.TABLE) -> None:
    """Show how far each partition is behind: offsets that are not copied, and the time of the oldest such record.

    Exit codes: 0; 2 there is no such mirror; 4 a cluster did not answer.
    """
    mirrors = _open()
    found, now = mirrors.lag(name), mirrors.project.clock.now()
    table = Table("partition", "copied to", "end", "behind", "seconds", box=None)
    for each in found.partitions:
        seconds = "" if each.since is None else f"{each.age(now).total_seconds():.1f}"
        table.add_row(each.partition, str(each.copied), str(each.end), str(each.records), seconds)
    for topic in found.absent:
        table.add_row(topic, "not in the target", "", "", "")
    emit(output, asdict(found), lambda: out.print(table))


@app.command()
def start(name: MirrorArgument, why: WhyOption = _REQUESTED, output: OutputOption = Output.TABLE) -> None:
    """Start a mirror, or adopt its process. Refuses topics of the target that hold anything else than its copies.

    Exit codes: 0 it runs; 2 there is no such mirror; 3 a password or the stack is missing; 4 a cluster, the launcher or
    the control database did not answer; 5 refused.
    """
    claim = _open().start(name, by=requester(), why=why)
    emit(output, claim_as_dict(name, claim), lambda: out_lines.print(claim_in_words(name, claim)))
    if claim.attempt is not None and claim.attempt.state is AttemptState.ENDED:
        raise SluiceError(f"the mirror {name} {claim.attempt.reason}.", fix=f"run `sluice mirror logs {name}`.")


@app.command()
def stop(
    name: MirrorArgument,
    why: WhyOption = _REQUESTED,
    deadline: Annotated[
        float, typer.Option("--deadline", min=0, help="Seconds after which its process is killed.")
    ] = 30,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a mirror; it goes on where it was when it is started again, and copies nothing twice.

    Exit codes: 0; 2 there is no such mirror; 4 the launcher or the control database did not answer; 5 refused.
    """
    mirrors = _open()
    mirrors.spec(name)
    report = mirrors.life(name).stop(requester(), why, deadline)
    emit(output, {"state": report.state}, lambda: out_lines.print(f"{name}: {report.state}."))


@app.command()
def logs(
    name: MirrorArgument, lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many.")] = 50
) -> None:
    """Show the end of the log of a mirror's newest process.

    Exit codes: 0; 2 there is no such mirror; 4 the control database did not answer; 5 it was never started.
    """
    mirrors = _open()
    mirrors.spec(name)
    life = mirrors.life(name)
    attempt = life.observe().attempt
    if attempt is None:
        raise RefusedError(f"{name} was never started.", fix=f"run `sluice mirror start {name}`.")
    for line in last_lines(life.launcher.log(attempt.key), lines):
        out_lines.print(line)


@app.command()
def translate(
    name: MirrorArgument,
    offsets: Annotated[str, typer.Argument(help="Next offsets in the source, such as flights/0=1200,flights/1=900.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show where offsets of the source are in the target, for any consumer that keeps its own.

    Exit codes: 0; 2 an argument is wrong; 4 the target did not answer.
    """
    target = parse_target(offsets)
    if not isinstance(target, Mapping):
        raise SpecError(f"{offsets!r} names no offsets.", fix="write some as flights/0=1200.")
    found = _open().translate(name, target)
    table = Table("partition", "source", "target", "copied to", "waiting", "double", box=None)
    for key, one in found.items():
        copied = "-" if one.copied is None else str(one.copied)
        table.add_row(key, str(one.position), str(one.at), copied, str(one.waiting), str(len(one.doubles)))
    emit(output, {key: asdict(one) for key, one in found.items()}, lambda: out.print(table))


@app.command()
def rehearse(name: MirrorArgument, unit: UnitArgument, output: OutputOption = Output.TABLE) -> None:
    """Show where each stream of a unit would go on in the target now, and compare both clusters record by record.

    Changes nothing; the report is kept.

    Exit codes: 0 exact; 1 a copy is missing, differs or is double; 2 an argument is wrong; 4 the target did not answer;
    5 refused: the mirror does not copy what the unit reads.
    """
    mirrors = _open()
    report = Failover(mirrors, name, mirrors.project.catalog.unit(unit)).rehearse()
    _show(report, output)
    if not report.exact:
        raise typer.Exit(1)


@app.command()
def failover(
    name: MirrorArgument,
    unit: UnitArgument,
    why: WhyOption,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put on record that a stopped unit goes on in the target, at the translated positions, after a confirmation.

    Exit codes: 0 it is recorded; 2 an argument is wrong, or there is no terminal for the confirmation; 4 the target,
    the launcher or the control database did not answer; 5 refused, nothing was changed.
    """
    mirrors = _open()
    moving = Failover(mirrors, name, mirrors.project.catalog.unit(unit))
    moving.refuse_running()
    if not output.for_programs:
        _show(moving.rehearse(), output)
    confirm(unit, yes=yes)
    report = moving.move(by=requester(), why=why)
    if output.for_programs:
        _show(report, output)
    else:
        out_lines.print(f"Start it there: SLUICE_DEPLOYMENT={report.target} sluice streams start {unit}")


def _show(report: FailoverReport, output: Output) -> None:
    emit(output, report.as_json(), lambda: out_lines.print("\n".join(report.lines())))


def _open() -> ProjectMirrors:
    return ProjectMirrors(Project.open_tolerant(settings()))
