"""`sluice quality`: checks what is published, shows what was found, and proposes a suite."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.instants import SinceOption, UntilOption
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.errors import NotReadyError, SpecError
from sluice.intervals.backfill.request import range_of
from sluice.quality.gate import GateResult

app = typer.Typer(help="Check what is published against its suite; propose a suite.", no_args_is_help=True)

PipelineArgument = Annotated[
    str, typer.Argument(help="A file in include/pipelines, without its ending.", autocompletion=completion.pipelines)
]


@app.command()
def check(
    pipeline: PipelineArgument,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run the suite on closed intervals of the published table; omitted bounds: the last 31 days. Publishes nothing.

    Exit codes: 0 it holds; 1 it does not; 2 a spec or an argument is wrong; 3 nothing is closed yet, or Spark cannot
    start; 4 could not look.
    """
    from sluice.spark.checks.published_quality import check_published  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this pays for Spark's import

    project, spec = open_pipeline(pipeline)
    if (since is None) != (until is None):
        raise SpecError("a range needs both --from and --to.", fix="give both, or neither for the last 31 days.")
    asked = None
    if since is not None and until is not None:
        asked = range_of(since, until, spec.intervals.interval_length)
    with batch_session(project, "quality", pipeline) as spark:
        result, page = check_published(project, spark, pipeline, asked)
    _tell(result, str(page), output)


@app.command()
def show(pipeline: PipelineArgument, output: OutputOption = Output.TABLE) -> None:
    """Show the newest result on record, without looking again.

    Exit codes: 0 it holds; 1 it does not; 2 there is no such pipeline; 3 it was never checked; 6 the result is damaged.
    """
    project, _ = open_pipeline(pipeline)
    newest = project.folder.quality(pipeline)
    if not newest.exists():
        raise NotReadyError(f"{pipeline} was never checked.", fix=f"run `sluice quality check {pipeline}`.")
    _tell(GateResult.from_json(newest.read_bytes()), str(newest.with_suffix(".html")), output)


@app.command()
def suggest(pipeline: PipelineArgument) -> None:
    """Print a suite that the published intervals would pass, with the reason for each line, as YAML to review.

    Exit codes: 0; 2 a spec is wrong; 3 nothing is closed yet, or Spark cannot start.
    """
    from sluice.quality.suggestion import as_yaml  # noqa: PLC0415 - with Spark's, below
    from sluice.spark.checks.profile import profile_of  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this pays for Spark's import

    project, _ = open_pipeline(pipeline)
    with batch_session(project, "suggest", pipeline) as spark:
        proposed = as_yaml(profile_of(project, spark, pipeline))
    out.write(proposed)
    err_lines.print(f"Review it, then put it into include/expectations/{pipeline}.yaml.", style="dim")


def _tell(result: GateResult, page: str, output: Output) -> None:
    told: dict[str, Any] = json.loads(result.to_json())
    emit(output, {"passed": result.passed, "page": page, **told}, lambda: _print_result(result, page))
    if not result.passed:
        raise typer.Exit(1)


def _print_result(result: GateResult, page: str) -> None:
    held = f"{result.expectations_passed} of {result.expectations} expectations hold"
    rows = "rows that could not be counted" if result.rows is None else f"{result.rows:,} rows"
    out_lines.print(f"{'passed' if result.passed else 'failed'}: {held}, {rows}")
    for failure in result.failures:
        out_lines.print(f"  failed   {failure}")
    for warning in result.warnings:
        out_lines.print(f"  warning  {warning}")
    out_lines.print(f"  page     {page}")
