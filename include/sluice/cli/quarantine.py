"""`sluice quarantine`: the records that validation rejects, and the cases that handle them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from pydantic import ValidationError

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import PipelineArgument, WhyOption
from sluice.cli.terminal.instants import SinceOption, UntilOption
from sluice.cli.terminal.output import Output, OutputOption, emit, err
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.user import requester
from sluice.cli.views import quarantine_view as view
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.quality.cases import Case, CaseEvent, Cases, CaseState, case_id
from sluice.quality.patching import declaration, patches_for
from sluice.quality.quarantine import QuarantineFilter
from sluice.quality.reasons import Reason
from sluice.settings import settings
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.patches import Replacement

if TYPE_CHECKING:
    from sluice.spark.checks.quarantine import Quarantine

T = TypeVar("T")

_CASES = 100
"""The default number of cases."""

app = typer.Typer(help="List rejected records; open, patch and replay cases.", no_args_is_help=True)

CaseArgument = Annotated[
    str,
    typer.Argument(metavar="CASE", help="An id that `sluice quarantine cases` shows.", autocompletion=completion.cases),
]
ReasonOption = Annotated[list[Reason] | None, typer.Option("--reason", help="Only this reason. Repeatable.")]
PartitionOption = Annotated[int | None, typer.Option("--partition", min=0, help="Only this partition.")]
TopicOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of several topics that the pipeline reads, whose records.",
        autocompletion=completion.topics,
    ),
]
OffsetsOption = Annotated[str, typer.Option("--offsets", metavar="A-B", help="Only these offsets, both ends included.")]
MaskedOption = Annotated[bool, typer.Option("--masked", help="Mask keys and values: letters as x, digits as 9.")]


@app.command("list")
def list_(
    *,
    pipeline: PipelineArgument,
    reason: ReasonOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    partition: PartitionOption = None,
    offsets: OffsetsOption = "",
    topic: TopicOption = None,
    limit: Annotated[int, typer.Option(min=0, max=1000, help="The number of records, newest first.")] = 20,
    masked: MaskedOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Count the records that today's rules reject, by reason and day, and show the newest ones.

    Exit codes: 0; 2 a spec or an argument is wrong; 3 there is no raw table yet, or Spark cannot start.
    """
    selection = _filter(reason, since, until, partition, offsets)
    project, spec = open_pipeline(pipeline)
    name = _topic(spec, topic)
    browsed = _query(project, spec, name, lambda quarantine: quarantine.browse(selection, limit))
    counts = [{"reason": why, "day": day, "records": n} for (why, day), n in browsed.counts.items()]
    newest = [view.record_as_dict(name, one, masked=masked) for one in browsed.records]
    data = {"pipeline": pipeline, "records": browsed.total, "counts": counts, "newest": newest}
    emit(output, data, lambda: view.print_browsed(pipeline, browsed, masked=masked))


@app.command()
def record(
    pipeline: PipelineArgument,
    position: Annotated[str, typer.Argument(metavar="PARTITION:OFFSET", help="A position that `list` shows.")],
    topic: TopicOption = None,
    masked: MaskedOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one quarantined record with all its bytes, why it is rejected and what to do.

    Exit codes: 0; 2 it is not quarantined; 3 there is no raw table yet, or Spark cannot start.
    """
    project, spec = open_pipeline(pipeline)
    partition, _, offset = position.partition(":")
    if not (partition.isdecimal() and offset.isdecimal()):
        raise SpecError(f"{position!r} is not the position of a record.", fix="write partition:offset, such as 0:1234.")
    name = _topic(spec, topic)
    rejected = _query(project, spec, name, lambda quarantine: quarantine.one(int(partition), int(offset)))
    if rejected is None:
        raise SpecError(
            f"{pipeline} rejects no record at {position}: it is good, late, or not in the raw table.",
            fix=f"see `sluice quarantine list {pipeline}`.",
        )
    data = view.record_as_dict(name, rejected, masked=masked)
    emit(output, data, lambda: view.print_record(name, rejected, masked=masked))


@app.command("open")
def open_(
    *,
    pipeline: PipelineArgument,
    why: WhyOption,
    reason: ReasonOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    partition: PartitionOption = None,
    offsets: OffsetsOption = "",
    topic: TopicOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Open a case for the records that `list` counts with the same options. Records rejected later do not belong to it.

    Exit codes: 0; 2 a spec or an argument is wrong, or no record matches; 3 there is no raw table yet; 4 the control
    database did not answer; 5 another case has some of the records.
    """
    selection = _filter(reason, since, until, partition, offsets)
    project, spec = open_pipeline(pipeline)
    name = _topic(spec, topic)
    positions, reasons, details = _query(project, spec, name, lambda quarantine: quarantine.positions(selection))
    if not positions.count:
        raise SpecError(
            f"{pipeline} rejects no record that matches ({selection}).", fix=f"see `sluice quarantine list {pipeline}`."
        )
    fields = {f"{reason}: {detail}": n for reason, own in details.items() for detail, n in own.items()}
    event = CaseEvent(CaseState.OPEN, requester(), _reason(why), SystemClock().now(), counts=fields or None)
    case = case_id(pipeline, event.at, positions)
    counts = {str(each): count for each, count in reasons.items()}
    _show(project.records.cases().open(Case(case, pipeline, str(selection), positions, counts, (event,))), output)


@app.command()
def cases(
    pipeline: Annotated[str, typer.Argument(help="Default: all pipelines.", autocompletion=completion.pipelines)] = "",
    *,
    limit: Annotated[int, typer.Option(min=1, help="The number of cases, newest first.")] = _CASES,
    output: OutputOption = Output.TABLE,
) -> None:
    """List cases, newest first.

    Exit codes: 0; 4 the control database did not answer.
    """
    every = _cases().of(pipeline or None)
    newest = every[:limit]
    if len(every) > limit:
        err.print(f"Showing the newest {limit:,} of {len(every):,}; use --limit for more.", style="dim")
    emit(output, [view.case_as_dict(case) for case in newest], lambda: view.print_cases(newest))


@app.command()
def show(case: CaseArgument, output: OutputOption = Output.TABLE) -> None:
    """Show a case: its records, its history, and what to do next.

    Exit codes: 0; 2 the case does not exist; 4 the control database did not answer.
    """
    _show(_cases().get(case), output)


@app.command()
def fix(case: CaseArgument, why: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Record that the cause of a case is fixed: the spec, an expectation, a patch.

    Exit codes: 0; 2 the case does not exist, or the reason is missing; 4 the control database did not answer; 5 the
    case is closed.
    """
    _change_state(case, CaseState.FIXED, why, output)


@app.command()
def discard(case: CaseArgument, why: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Discard the records of a case: they stay in the raw table, and out of the results.

    Exit codes: as for `fix`.
    """
    _change_state(case, CaseState.DISCARDED, why, output)


@app.command()
def reopen(case: CaseArgument, why: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Open a fixed or discarded case again.

    Exit codes: as for `fix`; 5 also if another case now has some of its records.
    """
    _change_state(case, CaseState.OPEN, why, output)


@app.command()
def patch(
    *,
    case: CaseArgument,
    pattern: Annotated[str, typer.Option("--pattern", help="A regular expression for what is wrong in the values.")],
    by: Annotated[str, typer.Option("--by", help="The replacement; $1 is the first group.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Try a patch on the records of a case, and show the lines that declare it. Changes nothing.

    Exit codes: 0 with it, today's rules accept all records; 1 not all; 2 the case does not exist, or the expression is
    wrong; 3 there is no raw table, or Spark cannot start; 4 the control database did not answer.
    """
    patched = _cases().get(case)
    patches = patches_for(patched, (_replacement(pattern, by),))
    project, spec = open_pipeline(patched.pipeline)
    topic = _topic_of_case(project, spec, patched)
    revalidated = _query(project, spec, topic, lambda q: q.with_patches(patches).revalidate(patched.positions))
    file, lines = f"include/topics/{topic}.yaml", declaration(patches)
    data = {"case": case, "records": patched.records, "found": revalidated.counts, "missing": revalidated.missing}
    emit(output, data, lambda: view.print_patched(patched, revalidated, file, lines))
    if revalidated.better < patched.records:
        raise typer.Exit(1)


@app.command()
def replay(case: CaseArgument, output: OutputOption = Output.TABLE) -> None:
    """Validate a case's records again, recompute and verify their intervals, and close the case.

    Nothing changes unless today's rules accept all the records. Run it again to continue where it stopped.

    Exit codes: 0 the case is closed; 1 it is not, for the printed reason; 2 the case does not exist; 3 Spark cannot
    start; 4 the control database or a log did not answer; 5 it was discarded, or another backfill overlaps.
    """
    from sluice.spark.backfill.replay import replay as replay_case  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this imports Spark

    pipeline = _cases().get(case).pipeline
    project, _ = open_pipeline(pipeline)
    with batch_session(project, "replay", pipeline) as spark:
        result = replay_case(project, spark, case, by=requester())
    counts = None if result.revalidation is None else result.revalidation.counts
    data = {**view.case_as_dict(result.case), "passed": result.passed, "why": result.why, "found": counts}
    emit(output, data, lambda: view.print_replayed(result))
    if not result.passed:
        raise typer.Exit(1)


def _query(project: Project, spec: PipelineSpec, topic: str, query: Callable[[Quarantine], T]) -> T:
    """Query what a pipeline quarantines of a topic, in a Spark session of its own."""
    from sluice.spark.checks.quarantine import quarantine_of  # noqa: PLC0415 - only this imports Spark
    from sluice.spark.driver.pipeline_code import pipeline_code  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - the same

    with batch_session(project, "quarantine", spec.name) as spark:
        return query(quarantine_of(project, spark, pipeline_code(project, spark, spec), topic))


def _topic(spec: PipelineSpec, topic: str | None) -> str:
    """Return the topic that is meant: the only one, if none is named.

    Raises:
        SpecError: the pipeline reads several, or does not read this one.
    """
    if topic in spec.topics:
        return topic
    if topic is None and len(spec.topics) == 1:
        return spec.topics[0]
    if not spec.topics:
        tables = " and ".join(source.table for source in spec.table_sources.values())
        raise SpecError(f"{spec.name} reads {tables} alone, whose rows were judged before.", fix="name its pipeline.")
    found = f"{spec.name} reads {', '.join(spec.topics)}" + (f", and not {topic}" if topic else "")
    raise SpecError(f"{found}.", fix="name one of its topics with --topic.")


def _topic_of_case(project: Project, spec: PipelineSpec, case: Case) -> str:
    from sluice.spark.checks.quarantine import topic_of_records  # noqa: PLC0415 - only this imports Spark

    return topic_of_records(project, spec, case.positions)


def _replacement(pattern: str, by: str) -> Replacement:
    try:
        return Replacement(pattern=pattern, by=by)
    except ValidationError as error:
        faults = "; ".join(f"--{fault['loc'][0]}: {fault['msg']}" for fault in error.errors(include_url=False))
        raise SpecError(f"{faults}.", fix="correct the expression, or what replaces it.") from None


def _change_state(case: str, state: CaseState, why: str, output: Output) -> None:
    _show(_cases().add(case, CaseEvent(state, requester(), _reason(why), SystemClock().now())), output)


def _show(case: Case, output: Output) -> None:
    emit(output, view.case_as_dict(case), lambda: view.print_case(case))


def _cases() -> Cases:
    return Project.open_tolerant(settings()).records.cases()


def _reason(why: str) -> str:
    if not why.strip():
        raise SpecError("the reason is missing.", fix="pass `--why …`: it is recorded with your name.")
    return why.strip()


def _filter(
    reasons: list[Reason] | None, since: datetime | None, until: datetime | None, partition: int | None, offsets: str
) -> QuarantineFilter:
    first, dash, last = offsets.partition("-")
    if offsets and not (first.isdecimal() and (last.isdecimal() or not dash)):
        raise SpecError(f"--offsets {offsets!r} is not a range.", fix="write A-B, both included, or one offset.")
    bounds = (int(first), int(last or first)) if offsets else (None, None)
    return QuarantineFilter(tuple(dict.fromkeys(reasons or ())), since, until, partition, *bounds)
