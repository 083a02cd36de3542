"""`sluice quarantine`: what validation refuses, and the cases in which somebody looks after it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from pydantic import ValidationError

from sluice.cli.terminal import completion
from sluice.cli.terminal.instants import SinceOption, UntilOption
from sluice.cli.terminal.output import Output, OutputOption, err, print_data
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.cli.terminal.requester import asker
from sluice.cli.views.quarantine_view import (
    case_as_dict,
    record_as_dict,
    tell_browsed,
    tell_case,
    tell_cases,
    tell_patched,
    tell_record,
    tell_replayed,
)
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
    from pyspark.sql import SparkSession

    from sluice.spark.checks.quarantine import Quarantine

T = TypeVar("T")

_CASES = 100
"""How many cases are shown, unless somebody wants more."""

app = typer.Typer(help="Look at what validation refuses; open cases, replay them.", no_args_is_help=True)

PipelineArgument = Annotated[
    str, typer.Argument(help="A file in include/pipelines, without its ending.", autocompletion=completion.pipelines)
]
CaseArgument = Annotated[
    str, typer.Argument(metavar="CASE", help="As `sluice quarantine cases` shows it.", autocompletion=completion.cases)
]
ReasonOption = Annotated[list[Reason] | None, typer.Option("--reason", help="Only these reasons; may be repeated.")]
PartitionOption = Annotated[int | None, typer.Option("--partition", min=0, help="Only of this partition.")]
OffsetsOption = Annotated[str, typer.Option("--offsets", metavar="A-B", help="Only these offsets, both included.")]
WhyOption = Annotated[str, typer.Option("--why", help="The reason, for the record.")]
MaskedOption = Annotated[
    bool, typer.Option("--masked", help="Show the form of keys and values: letters as x, digits as 9.")
]


@app.command("list")
def list_(
    *,
    pipeline: PipelineArgument,
    reason: ReasonOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    partition: PartitionOption = None,
    offsets: OffsetsOption = "",
    limit: Annotated[int, typer.Option(min=0, max=1000, help="How many of the newest are shown.")] = 20,
    masked: MaskedOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Count the records that today's rules refuse, by reason and day, and show the newest ones.

    Exit codes: 0 looked; 2 a spec or an argument is wrong; 3 there is no raw table yet, or Spark cannot start.
    """
    asked = _asked(reason, since, until, partition, offsets)
    project, spec = open_pipeline(pipeline)
    found = _Looking(project, spec).at(lambda quarantine: quarantine.browse(asked, limit))
    if output.for_programs:
        counts = [{"reason": why, "day": day, "records": n} for (why, day), n in found.counts.items()]
        records = [record_as_dict(spec.source, one, masked=masked) for one in found.records]
        print_data(output, {"pipeline": pipeline, "records": found.total, "counts": counts, "newest": records})
    else:
        tell_browsed(pipeline, found, masked=masked)


@app.command()
def record(
    pipeline: PipelineArgument,
    place: Annotated[str, typer.Argument(metavar="PARTITION:OFFSET", help="As `list` shows it.")],
    masked: MaskedOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one quarantined record with all its bytes, why it is refused and what to do.

    Exit codes: 0; 2 it is not in quarantine; 3 there is no raw table yet, or Spark cannot start.
    """
    project, spec = open_pipeline(pipeline)
    partition, _, offset = place.partition(":")
    if not (partition.isdecimal() and offset.isdecimal()):
        raise SpecError(f"{place!r} is no place of a record.", fix="write partition:offset, such as 0:1234.")
    found = _Looking(project, spec).at(lambda quarantine: quarantine.one(int(partition), int(offset)))
    if found is None:
        raise SpecError(
            f"{pipeline} refuses no record at {place}: it is good, late, or not in the raw table.",
            fix=f"see `sluice quarantine list {pipeline}`.",
        )
    if output.for_programs:
        print_data(output, record_as_dict(spec.source, found, masked=masked))
    else:
        tell_record(spec.source, found, masked=masked)


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
    output: OutputOption = Output.TABLE,
) -> None:
    """Open a case for the records that `list` with the same options counts. What is refused later is in none of it.

    Exit codes: 0; 2 a spec or an argument is wrong, or there is no such record; 3 there is no raw table yet; 4 the
    control database could not be asked; 5 some of them are in another case.
    """
    asked = _asked(reason, since, until, partition, offsets)
    project, spec = open_pipeline(pipeline)
    places, reasons, details = _Looking(project, spec).at(lambda quarantine: quarantine.places(asked))
    if not places.count:
        raise SpecError(
            f"{pipeline} refuses no such record ({asked}).", fix=f"see `sluice quarantine list {pipeline}`."
        )
    fields = {f"{reason}: {detail}": n for reason, own in details.items() for detail, n in own.items()}
    event = CaseEvent(CaseState.OPEN, asker(), _said(why), SystemClock().now(), counts=fields or None)
    name = case_id(pipeline, event.at, places)
    counts = {str(each): count for each, count in reasons.items()}
    _show(project.records.cases().open(Case(name, pipeline, str(asked), places, counts, (event,))), output)


@app.command()
def cases(
    pipeline: Annotated[str, typer.Argument(help="Omitted: all.", autocompletion=completion.pipelines)] = "",
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = _CASES,
    output: OutputOption = Output.TABLE,
) -> None:
    """List cases, newest first.

    Exit codes: 0; 4 the control database could not be asked.
    """
    every = _cases().of(pipeline or None)
    found = every[:limit]
    if len(every) > limit:
        err.print(f"The newest {limit:,} of {len(every):,} are shown; see --limit.", style="dim")
    if output.for_programs:
        print_data(output, [case_as_dict(case) for case in found])
    else:
        tell_cases(found)


@app.command()
def show(case: CaseArgument, output: OutputOption = Output.TABLE) -> None:
    """Show a case: which records, what happened to it, and what comes next.

    Exit codes: 0; 2 there is no such case; 4 the control database could not be asked.
    """
    _show(_cases().get(case), output)


@app.command()
def fix(case: CaseArgument, why: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Say that what was wrong is mended: the spec, an expectation, a patch.

    Exit codes: 0; 2 there is no such case, or no reason; 4 the control database could not be asked; 5 it is over.
    """
    _becomes(case, CaseState.FIXED, why, output)


@app.command()
def discard(case: CaseArgument, why: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Give its records up: they stay in the raw table, and out of the results.

    Exit codes: as those of `fix`.
    """
    _becomes(case, CaseState.DISCARDED, why, output)


@app.command()
def reopen(case: CaseArgument, why: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Take a fixed or discarded case up again.

    Exit codes: as those of `fix`; 5 also if some of its records are in another case meanwhile.
    """
    _becomes(case, CaseState.OPEN, why, output)


@app.command()
def patch(
    *,
    case: CaseArgument,
    pattern: Annotated[str, typer.Option("--pattern", help="What is wrong in the values: a regular expression.")],
    by: Annotated[str, typer.Option("--by", help="What is read instead; $1 is the first group.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Try a patch on the records of a case, and show the lines that declare it. Nothing is changed.

    Exit codes: 0 today's rules would take all of them; 1 not all; 2 there is no such case, or the expression is wrong;
    3 there is no raw table, or Spark cannot start; 4 the control database could not be asked.
    """
    found = _cases().get(case)
    patches = patches_for(found, (_replacement(pattern, by),))
    project, spec = open_pipeline(found.pipeline)
    looked = _Looking(project, spec).at(lambda quarantine: quarantine.under(patches).look_again(found.places))
    if output.for_programs:
        print_data(output, {"case": case, "records": found.records, "found": looked.counts, "missing": looked.missing})
    else:
        tell_patched(found, looked, f"include/topics/{spec.source}.yaml", declaration(patches))
    if looked.better < found.records:
        raise typer.Exit(1)


@app.command()
def replay(case: CaseArgument, output: OutputOption = Output.TABLE) -> None:
    """Validate a case's records again, recompute the intervals in which they happened, verify them, and close the case.

    Nothing is changed unless all of its records are accepted by today's rules. Repeated, it goes on where it broke off.

    Exit codes: 0 the case is closed; 1 it is not, and why; 2 there is no such case; 3 Spark cannot start; 4 could not
    look; 5 it was discarded, or another backfill is in the way.
    """
    from sluice.spark.backfill.replay import replay as replay_case  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this pays for Spark's import

    pipeline = _cases().get(case).pipeline
    project, _ = open_pipeline(pipeline)
    with batch_session(project, "replay", pipeline) as spark:
        found = replay_case(project, spark, case, by=asker())
    if output.for_programs:
        found_now = None if found.found is None else found.found.counts
        print_data(output, {**case_as_dict(found.case), "passed": found.passed, "why": found.why, "found": found_now})
    else:
        tell_replayed(found)
    if not found.passed:
        raise typer.Exit(1)


class _Looking:
    """A look through Spark, in a session of its own."""

    def __init__(self, project: Project, spec: PipelineSpec) -> None:
        self._project = project
        self._spec = spec

    def at(self, ask: Callable[[Quarantine], T]) -> T:
        from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this pays for Spark's import

        with batch_session(self._project, "quarantine", self._spec.name) as spark:
            return ask(self._quarantine(spark))

    def _quarantine(self, spark: SparkSession) -> Quarantine:
        from sluice.spark.checks.quarantine import quarantine_of  # noqa: PLC0415 - only this pays for Spark's import

        return quarantine_of(self._project, spark, self._spec)


def _replacement(pattern: str, by: str) -> Replacement:
    try:
        return Replacement(pattern=pattern, by=by)
    except ValidationError as error:
        faults = "; ".join(f"--{fault['loc'][0]}: {fault['msg']}" for fault in error.errors(include_url=False))
        raise SpecError(f"{faults}.", fix="correct the expression, or what replaces it.") from None


def _becomes(case: str, state: CaseState, why: str, output: Output) -> None:
    _show(_cases().add(case, CaseEvent(state, asker(), _said(why), SystemClock().now())), output)


def _show(case: Case, output: Output) -> None:
    if output.for_programs:
        print_data(output, case_as_dict(case))
    else:
        tell_case(case)


def _cases() -> Cases:
    return Project.open_tolerant(settings()).records.cases()


def _said(why: str) -> str:
    if not why.strip():
        raise SpecError("there is no reason.", fix="say `--why …`: it goes on record beside your name.")
    return why.strip()


def _asked(
    reasons: list[Reason] | None,
    since: datetime | None,
    until: datetime | None,
    partition: int | None,
    offsets: str,
) -> QuarantineFilter:
    first, dash, last = offsets.partition("-")
    if offsets and not (first.isdecimal() and (last.isdecimal() or not dash)):
        raise SpecError(f"--offsets {offsets!r} is no range.", fix="write A-B, both included, or one offset.")
    return QuarantineFilter(
        reasons=tuple(dict.fromkeys(reasons or ())),
        since=since,
        until=until,
        partition=partition,
        first=int(first) if offsets else None,
        last=int(last or first) if offsets else None,
    )
