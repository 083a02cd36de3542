"""`sluice backfill`: computes closed intervals by batch, with the same function as the stream."""

from __future__ import annotations

import uuid
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.instants import FromOption, ToOption
from sluice.cli.terminal.output import Output, OutputOption, err, err_lines, out, print_data
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.requester import asker
from sluice.cli.views.backfill_plan import BackfillPlan
from sluice.cli.views.backfill_progress import ProgressLine
from sluice.cli.views.backfill_view import STYLES, backfill_as_dict, tell_backfill
from sluice.clock import SystemClock
from sluice.devstack.supervision import last_lines
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.intervals.backfill.acceptance import accepting
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Mode, Only, Request, range_of
from sluice.intervals.backfill.selection import select
from sluice.launch.batch_process import BatchProcess, end_now
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.model import PipelineSpec

app = typer.Typer(help="Compute closed intervals by batch: verify, correct, recompute.", no_args_is_help=True)

PipelineArgument = Annotated[
    str, typer.Argument(help="A file in include/pipelines, without its ending.", autocompletion=completion.pipelines)
]
ModeOption = Annotated[Mode, typer.Option(help="verify publishes nothing; correct brings late records in.")]
OnlyOption = Annotated[Only, typer.Option(help="Which intervals of the range a recompute takes.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the record.")]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="As `sluice backfill list` shows it.", autocompletion=completion.backfills)
]

_LOG_LINES = 15


@app.command()
def plan(
    *,
    pipeline: PipelineArgument,
    start: FromOption,
    end: ToOption,
    mode: ModeOption = Mode.VERIFY,
    only: OnlyOption = Only.ALL,
    why: WhyOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which intervals a run would take, in which chunks, and why it would leave the others. Changes nothing.

    Exit codes: 0; 2 a spec or an argument is wrong; 4 could not look; 5 a recompute of healthy intervals needs a
    reason; 6 the ledger cannot be read.
    """
    project, spec = open_pipeline(pipeline)
    found = _plan(project, spec, _request(spec, start, end, mode, only=only, why=why))
    if output.for_programs:
        print_data(output, found.as_dict())
    else:
        found.tell(out)


@app.command()
def run(
    *,
    pipeline: PipelineArgument,
    start: FromOption,
    end: ToOption,
    mode: ModeOption = Mode.VERIFY,
    only: OnlyOption = Only.ALL,
    why: WhyOption = "",
    key: Annotated[str, typer.Option(help="Names this asking: the same key again resumes what broke off.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a backfill and wait for its end. Ctrl-C asks it to stop after the chunk that it is at.

    Exit codes: 0 all is as it should be; 1 it is not, or it broke off (the report says what differs); 2 a spec or an
    argument is wrong; 3 Spark cannot start; 4 could not look; 5 another backfill is in the way, or a reason is
    missing; 6 the ledger cannot be read.
    """
    if dry_run:
        plan(pipeline=pipeline, start=start, end=end, mode=mode, only=only, why=why, output=output)
        return
    project, spec = open_pipeline(pipeline)
    _run(project, spec, _request(spec, start, end, mode, only=only, why=why), key, output)


@app.command()
def accept(
    backfill_id: IdArgument,
    why: Annotated[str, typer.Option("--why", help="The reason. It goes on record beside your name.")] = "",
    key: Annotated[str, typer.Option(help="Names this asking: the same key again resumes what broke off.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Run again what a quality gate has stopped, and publish it although it holds what that gate had found.

    What the gate had not found, or could not evaluate, stops it again. The page, the table's log and the record of
    backfills say who accepted what, and why.

    Exit codes: as those of `run`; 5 also where no gate has stopped that backfill.
    """
    project = Project.open_tolerant(settings())
    request = accepting(project.records.backfills().get(backfill_id), asker(), why)
    project, spec = open_pipeline(request.pipeline)
    _run(project, spec, request, key, output)


def _run(project: Project, spec: PipelineSpec, request: Request, key: str, output: Output) -> None:
    key = key or f"cli-{uuid.uuid4().hex}"
    planned = _plan(project, spec, request, key)
    if planned.in_the_way:  # Spark need not start to be told so
        raise RefusedError(planned.in_the_way)
    if not planned.selection.taken:
        planned.tell(err)
        raise RefusedError("there is no interval to work on.", fix="choose a range in which something is closed.")
    backfills, clock = project.records.backfills(), SystemClock()
    job = project.processes.batch(request.pipeline, _arguments(request, key))
    submitted = backfills.submit(request, key, alive=lambda name: project.processes.backfill_lock(name).held())
    try:
        process = BatchProcess(job, project.folder.backfills)
    except NotReadyError as error:
        backfills.end(submitted.id, BackfillState.FAILED, outcome="", why=str(error))
        raise
    try:
        with ProgressLine(
            process, backfills, project.processes.backfill_lock, clock, project.settings.batch_niceness
        ) as line:
            code = process.follow(lambda: backfills.find(key), line, clock)
    except KeyboardInterrupt:  # before it was followed
        process.end()
        code = 1
    if (left := backfills.find(key)) is not None and left.state is BackfillState.SUBMITTED:
        why = f"its process ended with exit code {code} before it began; its log is {process.log}"
        backfills.end(left.id, BackfillState.FAILED, outcome="", why=why)
    _tell_end(project, backfills.find(key), process.log, code, output)
    if code:
        raise typer.Exit(code if code > 0 else 1)


@app.command()
def status(
    backfill_id: Annotated[
        str,
        typer.Argument(
            metavar="[ID]", help="Omitted: the newest.", show_default=False, autocompletion=completion.backfills
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far a backfill is, when it will be done, how it ended, and where its report is.

    Exit codes: 0 it was shown, whatever its outcome; 2 there is no such backfill; 4 the control database could not be
    asked.
    """
    project = Project.open_tolerant(settings())
    backfills = project.records.backfills()
    newest = next(iter(backfills.recent(limit=1)), None)
    if not backfill_id and newest is None:
        raise SpecError("there was no backfill yet.", fix="see `sluice backfill run --help`.")
    found = backfills.get(backfill_id) if backfill_id or newest is None else newest
    if output.for_programs:
        print_data(output, backfill_as_dict(project, found))
    else:
        tell_backfill(project, found, SystemClock().now())


@app.command()
def cancel(
    backfill_id: IdArgument,
    now: Annotated[
        bool, typer.Option("--now", help="Kill its process instead of waiting for the chunk's end.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask a backfill to stop after the chunk that it is at. Nothing is ever half published, also by --now.

    Exit codes: 0 it is asked, or ended; 2 there is no such backfill; 4 could not look; 5 it is not running, or its
    process cannot be named.
    """
    project = Project.open_tolerant(settings())
    backfills, lock = project.records.backfills(), project.processes.backfill_lock(backfill_id)
    found = backfills.ask_cancel(backfill_id, asker())
    if found.state is BackfillState.RUNNING and (now or not lock.held()):  # nobody is there to hear it
        found = end_now(backfills, lock, backfill_id, asker())
    if output.for_programs:
        print_data(output, backfill_as_dict(project, found))
    elif found.state is BackfillState.RUNNING:
        out.print(f"{found.id} is asked to stop after the chunk that it is at.", markup=False, soft_wrap=True)
    else:
        out.print(f"{found.id} is {found.state}: {found.why}.", markup=False, soft_wrap=True)


@app.command("list")
def list_(
    pipeline: Annotated[str, typer.Argument(help="Omitted: all.", autocompletion=completion.pipelines)] = "",
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show backfills, newest first.

    Exit codes: 0; 4 the control database could not be asked.
    """
    project = Project.open_tolerant(settings())
    found = project.records.backfills().recent(pipeline or None, limit=limit)
    if output.for_programs:
        print_data(output, [backfill_as_dict(project, one) for one in found])
        return
    name = Column("id", no_wrap=True, min_width=max((len(one.id) for one in found), default=2))  # to be copied
    table = Table(name, "state", "mode", "range (UTC)", "intervals", "outcome", "asked by", box=None)
    for one in found:
        asked, style = one.request, STYLES[one.state]
        table.add_row(
            one.id,
            f"[{style}]{one.state}[/{style}]",
            asked.mode.value,
            f"{asked.range.start:%F %R} to {asked.range.end:%F %R}",
            f"{one.done:,}/{one.total:,}",
            one.outcome,
            escape(asked.by),
        )
    out.print(table)


def _request(spec: PipelineSpec, start: datetime, end: datetime, mode: Mode, *, only: Only, why: str) -> Request:
    if only is not Only.ALL and mode is not Mode.RECOMPUTE:
        raise SpecError(f"--only {only} needs --mode recompute; the mode is {mode}.", fix="leave --only away.")
    asked = range_of(start, end, spec.intervals.interval_length)
    return Request(spec.name, asked, mode, by=asker(), why=why, only=only)


def _plan(project: Project, spec: PipelineSpec, request: Request, key: str = "") -> BackfillPlan:
    ledger, code = project.tables.ledger(spec.name), project.code_of(spec.name)
    resumed = project.records.backfills().find(key)
    selection = select(request, ledger, spec.intervals.interval_length, code, resumed.id if resumed else "")
    try:
        project.processes.refuse_overlap(request, key)
    except RefusedError as refusal:
        return BackfillPlan.of(selection, spec.backfill.chunk, str(refusal))
    return BackfillPlan.of(selection, spec.backfill.chunk)


def _arguments(request: Request, key: str) -> list[str]:
    asked = {
        "--pipeline": request.pipeline,
        "--from": request.range.start.isoformat(),
        "--to": request.range.end.isoformat(),
        "--mode": request.mode.value,
        "--only": request.only.value,
        "--by": request.by,
        "--why": request.why,
        "--accepts": request.accepts,
        "--key": key,
    }
    return ["backfill", "--submitted", *(f"{name}={value}" for name, value in asked.items())]


def _tell_end(project: Project, found: Backfill | None, log: Path, code: int, output: Output) -> None:
    """Print what a run came to, and the end of its log if it did not end well."""
    if output.for_programs:
        ended = {} if found is None else backfill_as_dict(project, found)
        print_data(output, {**ended, "exit_code": code, "log": str(log)})
    elif found is not None:
        tell_backfill(project, found, SystemClock().now())
    if code and (found is None or not found.outcome):
        for line in last_lines(log, _LOG_LINES):
            err_lines.print(line)
        err.print(f"The batch ended with exit code {code}; its log is {log}", markup=False, soft_wrap=True)
