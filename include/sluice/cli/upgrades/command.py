"""`sluice streams upgrade`: what a change of code means, a trial of it, and its promotion."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal.arguments import DeadlineOption, UnitArgument, WhyOption
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out_lines
from sluice.cli.terminal.user import requester
from sluice.cli.upgrades.overview import print_upgrade, upgrade_as_dict
from sluice.cli.upgrades.trial import PipelineTrial, print_trial, trial_as_dict, try_pipeline
from sluice.cli.views.claim_view import claim_as_dict, claim_in_words, refuse_ended
from sluice.errors import RefusedError, SpecError
from sluice.launch.rehearsal import Rehearsal, rehearse
from sluice.project.project import Project
from sluice.project.upgrades import unit_upgrade
from sluice.settings import settings
from sluice.streams.upgrade import UnitUpgrade, rollback_steps

_INTERVALS = 24


def upgrade(
    *,
    unit: UnitArgument,
    try_: Annotated[
        bool, typer.Option("--try", help="Rehearse a start, compute the newest closed intervals, and compare.")
    ] = False,
    intervals: Annotated[
        int, typer.Option("--intervals", min=1, help="How many intervals of each table --try computes.")
    ] = _INTERVALS,
    promote: Annotated[
        bool, typer.Option("--promote", help="Restart the unit with the code on disk. Needs --why.")
    ] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="Show how to go back to the code before.")] = False,
    why: WhyOption = "",
    deadline: DeadlineOption = 60,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a restart with the code on disk changes: parts of the code, outputs, stale intervals, and state.

    With --try, rehearse a start with it on copies of the checkpoints, compute the newest closed intervals of each
    interval table with it, from the records behind the published rows, and show the differences row by row; nothing
    is published. With --promote, restart the unit. With --rollback, show how to go back.

    Exit codes: 0; 1 --try found a difference, or proved nothing, or the unit would not start; 2 a spec or an argument
    is wrong; 3 Spark cannot start, or the cluster has no capacity; 4 something did not answer; 5 refused: --promote of
    a unit that is not to run, or another backfill overlaps; 6 a ledger cannot be read.
    """
    if try_ + promote + rollback > 1:
        raise SpecError("--try, --promote and --rollback exclude each other.", fix="do one after the other.")
    if promote:
        _promote(unit, why, deadline, output)
    elif try_:
        _try(unit, intervals, why, output)
    elif rollback:
        _show_rollback(unit, output)
    else:
        found = _inspect(Project.open_strict(settings()), unit)
        emit(output, upgrade_as_dict(found), lambda: print_upgrade(found))


def _inspect(project: Project, unit: str) -> UnitUpgrade:
    project.catalog.unit(unit)
    return unit_upgrade(project, unit, project.streams.life(unit).observe())


def _try(unit: str, intervals: int, why: str, output: Output) -> None:
    project = Project.open_strict(settings())
    found = _inspect(project, unit)
    rehearsal = None if found.in_force else _rehearse(project, unit)
    specs = [project.catalog.pipelines[each.pipeline] for each in found.pipelines]
    trials = [try_pipeline(project, spec, intervals, why) for spec in specs if spec.has_intervals]
    data = {
        "unit": unit,
        "rehearsal": rehearsal and {"exit_code": rehearsal.exit_code, "why": rehearsal.why, "log": str(rehearsal.log)},
        "pipelines": {trial.pipeline: trial_as_dict(project, trial) for trial in trials},
    }
    emit(output, data, lambda: _print_trials(unit, rehearsal, trials))
    unstartable = rehearsal is not None and rehearsal.exit_code != 0
    if code := max((*(trial.exit_code for trial in trials), int(unstartable))):
        raise typer.Exit(code)


def _rehearse(project: Project, unit: str) -> Rehearsal | None:
    """Rehearse the start of the next generation, while the driver of this one goes on; None if the unit never ran."""
    attempt = project.records.registry().latest_attempt(unit)
    if attempt is None:
        return None
    project.processes.refuse_unconfigured(unit)
    job = project.processes.rehearsal(unit, attempt.generation + 1)
    err_lines.print(f"{unit}: rehearsing a start, on copies of its checkpoints", style="dim")
    return rehearse(job, project.folder.rehearsals / unit)


def _print_trials(unit: str, rehearsal: Rehearsal | None, trials: list[PipelineTrial]) -> None:
    if rehearsal is not None and rehearsal.exit_code:
        out_lines.print(f"{unit} would not start with the code on disk: {rehearsal.why}", style="red")
        out_lines.print(f"  log       {rehearsal.log}")
    elif rehearsal is not None:
        out_lines.print(f"{unit} would start with the code on disk: what it needs is there, and state fits.")
    if not trials:
        out_lines.print(f"{unit} fills no interval table: there are no closed results to compare with.")
    for trial in trials:
        print_trial(trial)
    if rehearsal is not None and not rehearsal.exit_code:
        out_lines.print(f"Nothing was published. Next: sluice streams upgrade {unit} --promote --why '…'")


def _promote(unit: str, why: str, deadline: float, output: Output) -> None:
    if not why.strip():
        raise SpecError("a promotion needs a reason.", fix="give --why; it is recorded.")
    project = Project.open_strict(settings())
    project.catalog.unit(unit)
    life = project.streams.life(unit)
    status = life.observe()
    if status.never_requested or status.stop_requested:
        raise RefusedError(
            f"{unit} is not to run, so there is nothing to restart: it takes the code on disk when it is started.",
            fix=f"run `sluice streams start {unit}`.",
        )
    before = unit_upgrade(project, unit, status)
    if before.in_force:
        _emit_promoted(before, {}, f"{unit}: generation {before.generation} runs the code on disk already.", output)
        return
    claim = life.restart(requester(), why, deadline)
    _emit_promoted(before, claim_as_dict(unit, claim), claim_in_words(unit, claim), output)
    refuse_ended(unit, claim)


def _emit_promoted(upgrade: UnitUpgrade, claim: dict[str, object], text: str, output: Output) -> None:
    commands = upgrade.recompute_commands()

    def print_promoted() -> None:
        out_lines.print(text)
        if commands:
            out_lines.print("Intervals of other code are stale, and stay as they are until you recompute them:")
        for command in commands:
            out_lines.print(f"  {command}")
        if claim:
            out_lines.print(f"Follow it: sluice streams show {upgrade.unit}")

    data = {"unit": upgrade.unit, "promoted": bool(claim), "claim": claim, "recompute": list(commands)}
    emit(output, data, print_promoted)


def _show_rollback(unit: str, output: Output) -> None:
    steps = rollback_steps(_inspect(Project.open_tolerant(settings()), unit))

    def print_steps() -> None:
        for number, step in enumerate(steps, start=1):
            out_lines.print(f"{number}. {step}")

    emit(output, {"unit": unit, "steps": list(steps)}, print_steps)
