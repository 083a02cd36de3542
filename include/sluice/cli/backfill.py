"""`sluice backfill`: compute closed intervals in batches, with the same function as the stream."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PipelineArgument, WhyOption
from sluice.cli.terminal.instants import FromOption, ToOption
from sluice.cli.terminal.output import Output, OutputOption, emit, err, err_lines, out, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.user import requester
from sluice.cli.views.backfill_plan import BackfillPlan
from sluice.cli.views.backfill_progress import ProgressLine
from sluice.cli.views.backfill_view import STYLES, backfill_as_dict, print_backfill
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

app = typer.Typer(help="Compute closed intervals in batches: verify, correct, recompute.", no_args_is_help=True)

ModeOption = Annotated[
    Mode,
    typer.Option(help="verify and try publish nothing; correct adds late records; recompute applies today's code."),
]
OnlyOption = Annotated[Only, typer.Option(help="The intervals of the range that a recompute processes.")]
KeyOption = Annotated[
    str, typer.Option(help="An idempotency key: running with the same key again resumes the backfill.")
]
IdArgument = Annotated[
    str,
    typer.Argument(metavar="ID", help="An id that `sluice backfill list` shows.", autocompletion=completion.backfills),
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
    """Show which intervals a run would process, in which chunks, and why it would skip the others. Changes nothing.

    Exit codes: 0; 2 a spec or an argument is wrong; 4 the control database or a log did not answer; 5 a recompute of
    healthy intervals needs a reason; 6 the ledger cannot be read.
    """
    project, spec = open_pipeline(pipeline)
    planned = _plan(project, spec, _request(spec, start, end, mode, only=only, why=why))
    emit(output, planned.as_dict(), lambda: planned.print(out))


@app.command()
def run(
    *,
    pipeline: PipelineArgument,
    start: FromOption,
    end: ToOption,
    mode: ModeOption = Mode.VERIFY,
    only: OnlyOption = Only.ALL,
    why: WhyOption = "",
    key: KeyOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a backfill and wait for its end. Ctrl-C makes it stop after the current chunk.

    Exit codes: 0 it finished and found nothing wrong; 1 it found a fault or broke off (the report says what differs);
    2 a spec or an argument is wrong; 3 Spark cannot start; 4 the control database or a log did not answer; 5 another
    backfill overlaps, or a reason is missing; 6 the ledger cannot be read.
    """
    if dry_run:
        plan(pipeline=pipeline, start=start, end=end, mode=mode, only=only, why=why, output=output)
        return
    project, spec = open_pipeline(pipeline)
    _run(project, spec, _request(spec, start, end, mode, only=only, why=why), key, output)


@app.command()
def accept(
    backfill_id: IdArgument,
    why: Annotated[str, typer.Option("--why", help="The reason. It is recorded with your name.")] = "",
    key: KeyOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Rerun a backfill that a quality gate stopped, and publish it despite the violations that the gate found.

    Other violations, and expectations that could not be evaluated, stop it again. The report, the table's log and the
    backfill's record say who accepted what, and why.

    Exit codes: as for `run`; 5 also if no gate stopped that backfill.
    """
    project = Project.open_tolerant(settings())
    request = accepting(project.records.backfills().get(backfill_id), requester(), why)
    project, spec = open_pipeline(request.pipeline)
    _run(project, spec, request, key, output)


def _run(project: Project, spec: PipelineSpec, request: Request, key: str, output: Output) -> None:
    key = key or f"cli-{uuid.uuid4().hex}"
    planned = _plan(project, spec, request, key)
    if planned.in_the_way:  # refuse before Spark starts
        raise RefusedError(planned.in_the_way)
    if not planned.selection.taken:
        planned.print(err)
        raise RefusedError("the range has no interval to process.", fix="choose a range with closed intervals.")
    backfills, clock = project.records.backfills(), SystemClock()
    job = project.processes.batch(request.pipeline, _arguments(request, key))
    submitted = backfills.submit(request, key, alive=lambda name: project.processes.backfill_lock(name).held())
    try:
        process = BatchProcess(job, project.folder.backfills)
    except NotReadyError as error:
        backfills.end(submitted.id, BackfillState.FAILED, outcome="", why=str(error))
        raise
    try:
        locks, niceness = project.processes.backfill_lock, project.settings.batch_niceness
        with ProgressLine(process, backfills, locks, clock, niceness) as line:
            code = process.follow(lambda: backfills.find(key), line, clock)
    except KeyboardInterrupt:  # before `follow` handles it
        process.end()
        code = 1
    if (left := backfills.find(key)) is not None and left.state is BackfillState.SUBMITTED:
        why = f"its process ended with exit code {code} before it claimed its range; its log is {process.log}"
        backfills.end(left.id, BackfillState.FAILED, outcome="", why=why)
    _print_end(project, backfills.find(key), process.log, code, output)
    if code:
        raise typer.Exit(code if code > 0 else 1)


@app.command()
def status(
    backfill_id: Annotated[
        str,
        typer.Argument(
            metavar="[ID]",
            help="Default: the newest backfill.",
            show_default=False,
            autocompletion=completion.backfills,
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the progress of a backfill, its expected end or its outcome, and its reports.

    Exit codes: 0 whatever its outcome; 2 the backfill does not exist; 4 the control database did not answer.
    """
    project = Project.open_tolerant(settings())
    backfills = project.records.backfills()
    chosen = [backfills.get(backfill_id)] if backfill_id else backfills.recent(limit=1)
    if not chosen:
        raise SpecError("there is no backfill yet.", fix="see `sluice backfill run --help`.")
    emit(output, backfill_as_dict(project, chosen[0]), lambda: print_backfill(project, chosen[0], SystemClock().now()))


@app.command()
def cancel(
    backfill_id: IdArgument,
    now: Annotated[
        bool, typer.Option("--now", help="Kill its process instead of waiting for the end of the chunk.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a backfill stop after the current chunk. No chunk is ever published in part, even with --now.

    Exit codes: 0 it will stop, or has ended; 2 the backfill does not exist; 4 the control database did not answer; 5 it
    is not running, or its process cannot be identified.
    """
    project = Project.open_tolerant(settings())
    backfills, lock = project.records.backfills(), project.processes.backfill_lock(backfill_id)
    backfill = backfills.ask_cancel(backfill_id, requester())
    if backfill.state is BackfillState.RUNNING and (now or not lock.held()):  # no process would see the request
        backfill = end_now(backfills, lock, backfill_id, requester())
    running = backfill.state is BackfillState.RUNNING
    ended = ": ".join(filter(None, (f"is {backfill.state}", backfill.why)))
    effect = "stops after the current chunk" if running else ended
    emit(output, backfill_as_dict(project, backfill), lambda: out_lines.print(f"{backfill.id} {effect}."))


@app.command("list")
def list_(
    pipeline: Annotated[str, typer.Argument(help="Default: all pipelines.", autocompletion=completion.pipelines)] = "",
    limit: Annotated[int, typer.Option(min=1, help="The number of backfills, newest first.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List backfills, newest first.

    Exit codes: 0; 4 the control database did not answer.
    """
    project = Project.open_tolerant(settings())
    backfills = project.records.backfills().recent(pipeline or None, limit=limit)
    emit(output, [backfill_as_dict(project, one) for one in backfills], lambda: out.print(_table(backfills)))


def _table(backfills: Sequence[Backfill]) -> Table:
    name = Column("id", no_wrap=True, min_width=max((len(one.id) for one in backfills), default=2))  # for copying
    table = Table(name, "state", "mode", "range (UTC)", "intervals", "outcome", "requested by", box=None)
    for one in backfills:
        request, style = one.request, STYLES[one.state]
        state, range_ = f"[{style}]{one.state}[/]", f"{request.range.start:%F %R} to {request.range.end:%F %R}"
        progress, by = f"{one.done:,}/{one.total:,}", escape(request.by)
        table.add_row(one.id, state, request.mode.value, range_, progress, one.outcome, by)
    return table


def _request(spec: PipelineSpec, start: datetime, end: datetime, mode: Mode, *, only: Only, why: str) -> Request:
    if only is not Only.ALL and mode is not Mode.RECOMPUTE:
        raise SpecError(f"--only {only} needs --mode recompute; the mode is {mode}.", fix="remove --only.")
    range_ = range_of(start, end, spec.intervals.interval_length)
    return Request(spec.name, range_, mode, by=requester(), why=why, only=only)


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
    options = {
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
    return ["backfill", "--submitted", *(f"{name}={value}" for name, value in options.items())]


def _print_end(project: Project, backfill: Backfill | None, log: Path, code: int, output: Output) -> None:
    """Print the outcome of a run, and the end of its log if it broke off."""
    ended = {} if backfill is None else backfill_as_dict(project, backfill)
    data = {**ended, "exit_code": code, "log": str(log)}
    emit(output, data, lambda: None if backfill is None else print_backfill(project, backfill, SystemClock().now()))
    if code and (backfill is None or not backfill.outcome):
        for line in last_lines(log, _LOG_LINES):
            err_lines.print(line)
        err_lines.print(f"The batch ended with exit code {code}; its log is {log}")
