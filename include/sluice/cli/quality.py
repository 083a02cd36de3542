"""`sluice quality`: check published intervals against their suite, show the result, propose a suite."""

from __future__ import annotations

import json
from typing import Any

import typer

from sluice.cli.terminal.arguments import PipelineArgument
from sluice.cli.terminal.instants import SinceOption, UntilOption
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out, out_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.errors import NotReadyError, SpecError
from sluice.intervals.backfill.request import range_of
from sluice.quality.gate import GateResult

app = typer.Typer(help="Check published intervals against their suite; propose a suite.", no_args_is_help=True)


@app.command()
def check(
    pipeline: PipelineArgument,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run the suite on closed intervals of the published table, by default of the last 31 days. Publishes nothing.

    Exit codes: 0 it passed; 1 it failed; 2 a spec or an argument is wrong; 3 no interval is closed yet, or Spark cannot
    start; 4 a log or the control database did not answer.
    """
    from sluice.spark.checks.published_quality import check_published  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this imports Spark

    project, spec = open_pipeline(pipeline)
    if (since is None) != (until is None):
        raise SpecError("a range needs both --from and --to.", fix="pass both, or neither for the last 31 days.")
    range_ = None
    if since is not None and until is not None:
        range_ = range_of(since, until, spec.intervals.interval_length)
    with batch_session(project, "quality", pipeline, range_) as spark:
        result, page = check_published(project, spark, pipeline, range_)
    _emit(result, str(page), output)


@app.command()
def show(pipeline: PipelineArgument, output: OutputOption = Output.TABLE) -> None:
    """Show the newest recorded result, without a new check.

    Exit codes: 0 it passed; 1 it failed; 2 the pipeline does not exist; 3 it was never checked; 6 the result is
    damaged.
    """
    project, _ = open_pipeline(pipeline)
    newest = project.folder.quality(pipeline)
    if not newest.exists():
        raise NotReadyError(f"{pipeline} was never checked.", fix=f"run `sluice quality check {pipeline}`.")
    _emit(GateResult.from_json(newest.read_bytes()), str(newest.with_suffix(".html")), output)


@app.command()
def suggest(pipeline: PipelineArgument) -> None:
    """Print a suite that the published intervals would pass, with a reason for each line, as YAML for review.

    Exit codes: 0; 2 a spec is wrong; 3 no interval is closed yet, or Spark cannot start.
    """
    from sluice.quality.suggestion import as_yaml  # noqa: PLC0415 - with Spark's, below
    from sluice.spark.checks.profile import profile_of  # noqa: PLC0415 - the same
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - only this imports Spark

    project, _ = open_pipeline(pipeline)
    with batch_session(project, "suggest", pipeline) as spark:
        proposed = as_yaml(profile_of(project, spark, pipeline))
    out.write(proposed)
    err_lines.print(f"Review it, then save it as include/expectations/{pipeline}.yaml.", style="dim")


def _emit(result: GateResult, page: str, output: Output) -> None:
    data: dict[str, Any] = json.loads(result.to_json())
    emit(output, {"passed": result.passed, "page": page, **data}, lambda: _print_result(result, page))
    if not result.passed:
        raise typer.Exit(1)


def _print_result(result: GateResult, page: str) -> None:
    held = f"{result.expectations_passed} of {result.expectations} expectations hold"
    rows = "an unknown number of rows" if result.rows is None else f"{result.rows:,} rows"
    out_lines.print(f"{'passed' if result.passed else 'failed'}: {held}, {rows}")
    for failure in result.failures:
        out_lines.print(f"  failed   {failure}")
    for warning in result.warnings:
        out_lines.print(f"  warning  {warning}")
    out_lines.print(f"  page     {page}")
