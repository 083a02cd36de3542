"""`sluice backfill`: compute closed intervals in batches, with the same function as the stream."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PipelineArgument, WhyOption
from sluice.cli.terminal.instants import FromOption, ToOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.user import requester
from sluice.cli.views.backfill_run import BackfillRun, plan_backfill, run_backfill_process
from sluice.cli.views.backfill_view import STYLES, backfill_as_dict, print_backfill, waiting_in_words
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.intervals.backfill.acceptance import accepting
from sluice.intervals.backfill.backfills import OPEN, Backfill, BackfillState
from sluice.intervals.backfill.progress import progress_in_words
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice, range_of
from sluice.launch.batch_process import end_now
from sluice.project.chains import downstream_of
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.model import PipelineSpec

app = typer.Typer(help="Compute closed intervals in batches: verify, correct, recompute.", no_args_is_help=True)

ModeOption = Annotated[
    Mode,
    typer.Option(help="verify and try publish nothing; correct adds late records; recompute applies today's code."),
]
OnlyOption = Annotated[Only, typer.Option(help="The intervals of the range that a recompute processes.")]
StaticOption = Annotated[
    StaticChoice,
    typer.Option(help="The content of static inputs that change: as recorded for each interval; newest, to recompute."),
]
KeyOption = Annotated[
    str, typer.Option(help="An idempotency key: running with the same key again resumes the backfill.")
]
IdArgument = Annotated[
    str,
    typer.Argument(metavar="ID", help="An id that `sluice backfill list` shows.", autocompletion=completion.backfills),
]


@app.command()
def plan(
    *,
    pipeline: PipelineArgument,
    start: FromOption,
    end: ToOption,
    mode: ModeOption = Mode.VERIFY,
    only: OnlyOption = Only.ALL,
    why: WhyOption = "",
    static: StaticOption = StaticChoice.RECORDED,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which intervals a run would process, in which chunks, and why it would skip the others. Changes nothing.

    Exit codes: 0; 2 a spec or an argument is wrong; 4 the control database or a log did not answer; 5 a recompute of
    healthy intervals needs a reason; 6 the ledger cannot be read.
    """
    project, spec = open_pipeline(pipeline)
    planned = plan_backfill(project, spec, _request(spec, start, end, mode, only=only, why=why, static=static))
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
    static: StaticOption = StaticChoice.RECORDED,
    key: KeyOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a backfill and wait for its end. Ctrl-C makes it stop after the current chunk.

    Exit codes: 0 it finished and found nothing wrong; 1 it found a fault or was interrupted (the report says why);
    2 a spec or an argument is wrong; 3 Spark cannot start; 4 the control database or a log did not answer; 5 another
    backfill overlaps, or a reason is missing; 6 the ledger cannot be read.
    """
    if dry_run:
        plan(pipeline=pipeline, start=start, end=end, mode=mode, only=only, why=why, static=static, output=output)
        return
    project, spec = open_pipeline(pipeline)
    _run(project, spec, _request(spec, start, end, mode, only=only, why=why, static=static), key, output)


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
    ended = run_backfill_process(project, spec, request, key)
    _print_end(project, ended, output)
    if ended.exit_code:
        raise typer.Exit(ended.exit_code)


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
    """List backfills, newest first, from the moment of their request on; below them, what each open one waits for.

    Exit codes: 0; 4 the control database did not answer.
    """
    project = Project.open_tolerant(settings())
    backfills = project.records.backfills().recent(pipeline or None, limit=limit)

    def human() -> None:
        out.print(_table(backfills))
        now = SystemClock().now()
        for one in backfills:
            if one.state in OPEN:
                said = filter(None, (progress_in_words(one, now), waiting_in_words(project, one)))
                out_lines.print(f"{one.id}: {'; '.join(said)}")

    emit(output, [backfill_as_dict(project, one) for one in backfills], human)


def _table(backfills: Sequence[Backfill]) -> Table:
    name = Column("id", no_wrap=True, min_width=max((len(one.id) for one in backfills), default=2))  # for copying
    table = Table(name, "state", "mode", "range (UTC)", "intervals", "outcome", "requested by", box=None)
    for one in backfills:
        request, style = one.request, STYLES[one.state]
        state, range_ = f"[{style}]{one.state}[/]", f"{request.range.start:%F %R} to {request.range.end:%F %R}"
        progress, by = f"{one.done:,}/{one.total:,}", escape(request.by)
        table.add_row(one.id, state, request.mode.value, range_, progress, one.outcome, by)
    return table


def _request(
    spec: PipelineSpec, start: datetime, end: datetime, mode: Mode, *, only: Only, why: str, static: StaticChoice
) -> Request:
    if only is not Only.ALL and mode is not Mode.RECOMPUTE:
        raise SpecError(f"--only {only} needs --mode recompute; the mode is {mode}.", fix="remove --only.")
    if static is StaticChoice.NEWEST and mode is not Mode.RECOMPUTE:
        raise SpecError(f"--static newest needs --mode recompute; the mode is {mode}.", fix="remove --static.")
    range_ = range_of(start, end, spec.intervals.interval_length)
    return Request(spec.name, range_, mode, by=requester(), why=why, only=only, static=static)


def _print_end(project: Project, ended: BackfillRun, output: Output) -> None:
    """Print the outcome of a run, and the end of its log if it broke off."""
    backfill = ended.backfill
    on_record = {} if backfill is None else backfill_as_dict(project, backfill)
    after = () if backfill is None else downstream_of(project, backfill.request)
    downstream = [each.as_dict() for each in after]
    data = {**on_record, "downstream": downstream, "exit_code": ended.code, "log": str(ended.log)}

    def human() -> None:
        if backfill is not None:
            print_backfill(project, backfill, SystemClock().now())
        for each in after:
            out_lines.print(each.in_words)

    emit(output, data, human)
    ended.print_log_if_broken_off()
