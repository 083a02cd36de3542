"""`sluice run`: what a pipeline makes of a few records, before anything runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sluice.cli.console import Output, OutputOption, print_data
from sluice.cli.sample_file import read_sample
from sluice.errors import SpecError
from sluice.quality.preview import JudgedLine, Preview
from sluice.quality.reasons import EXPLANATIONS, FAULTS, Outcome, Reason
from sluice.settings import Settings, settings
from sluice.specs.expectations import Expectation
from sluice.specs.faults import SpecFaults
from sluice.specs.kinds import Kind
from sluice.specs.load import Scan, scan
from sluice.specs.model import PipelineSpec, TopicSpec

_UNBOUNDED = 10_000
_TEXT = 200
"""How many characters of a line that does not decode are shown."""
_STYLES = {Outcome.GOOD: "green", Outcome.QUARANTINED: "red", Outcome.LATE: "yellow", Outcome.CONTROL: "dim"}


def run(
    pipeline: Annotated[str, typer.Argument(help="A file in include/pipelines, without its ending.")],
    sample: Annotated[str, typer.Option(metavar="FILE", help="One JSON value per line, or gzip of it; - is stdin.")],
    arrived_at: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%dT%H:%M:%S%z"],
            metavar="YYYY-MM-DDTHH:MM:SSZ",
            help="When the broker got every line; only where the topic says `arrival_time: broker`.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Show this many lines and rows; all are run and counted.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what validation and transform make of a sample, by the very functions of the stream.

    Needs neither Kafka nor Airflow, and writes nothing. A sample is one batch: the watermark drops nothing, and what
    Spark cannot stream shows only when the stream starts.

    Exit codes: 0 it ran, whatever became of the lines; 2 a spec, the transform or the sample is wrong; 3 Spark cannot
    start.
    """
    place = settings()
    specs = scan(place.home / "include")
    spec, topic = sound_pipeline(specs, pipeline)
    expected = specs.catalog.expected_of_records(pipeline)
    arrival = broker_time(topic, arrived_at)
    lines = read_sample(sample)
    found = _preview(place, spec, in_lines(topic), lines, arrival, expected=expected)
    if output.for_programs:
        print_data(output, report(found, limit))
    else:
        # A terminal folds what is too wide; a file or pipe gets every row on one line. Data is shown as it is.
        width = None if sys.stdout.isatty() else _UNBOUNDED
        show(found, limit, Console(width=width, soft_wrap=True, highlight=False, emoji=False))


def sound_pipeline(found: Scan, name: str) -> tuple[PipelineSpec, TopicSpec]:
    """Return a pipeline and its topic; other specs may be broken.

    Raises:
        SpecError: there is no such pipeline, or it is broken (with all its faults).
    """
    if name in found.catalog.pipelines:
        spec = found.catalog.pipelines[name]
        return spec, found.catalog.topics[spec.source]
    if faults := found.broken.get((Kind.PIPELINE, name)):
        raise SpecFaults(faults)
    names = sorted({*found.catalog.pipelines, *(stem for kind, stem in found.broken if kind is Kind.PIPELINE)})
    raise SpecError(
        f"there is no pipeline {name!r}; the specs have {', '.join(names) or 'none'}.", fix="name one of these."
    )


def in_lines(topic: TopicSpec) -> TopicSpec:
    """Return the topic as if its values were lines: JSON without frames.

    Raises:
        SpecError: they are no text.
    """
    if topic.value.format != "json":
        raise SpecError(
            f"the values of {topic.name} are written in {topic.value.format}, and a sample is lines of JSON.",
            fix="look at real records instead: `sluice topics tail`, `sluice quarantine list`.",
        )
    bare = topic.value.model_copy(update={"framing": "none", "schemas": {}})
    return topic.model_copy(update={"value": bare})


def broker_time(topic: TopicSpec, arrived_at: datetime | None) -> datetime | None:
    """Return the append time of every line in UTC; None where the records say themselves when they arrived.

    Raises:
        SpecError: it is needed and not given, or given and not needed.
    """
    field = topic.value.arrival_time
    if field == "broker" and arrived_at is None:
        raise SpecError(
            f"the topic {topic.name} takes its arrival time from the broker, and a file has none.",
            fix="say when the lines arrived, by --arrived-at 2013-01-01T10:00:00Z.",
        )
    if field != "broker" and arrived_at is not None:
        raise SpecError(
            f"the records of {topic.name} say in {field!r} when they arrived.", fix="leave --arrived-at away."
        )
    return None if arrived_at is None else arrived_at.astimezone(UTC)


def _preview(
    place: Settings,
    pipeline: PipelineSpec,
    topic: TopicSpec,
    lines: Sequence[bytes],
    arrived_at: datetime | None,
    *,
    expected: Sequence[Expectation],
) -> Preview:
    from sluice.spark.sample import preview  # noqa: PLC0415  Spark is slow to import, and bad input needs none
    from sluice.spark.scratch import scratch_session  # noqa: PLC0415  the same

    with scratch_session(
        f"sluice-run-{pipeline.name}",
        pipeline.resources,
        jars=place.jars / "spark",
        transforms=place.home / "spark_jobs",
        overrides=pipeline.spark,
    ) as spark:
        return preview(spark, place.home, pipeline, topic, lines, arrived_at=arrived_at, expected=expected)


def report(found: Preview, limit: int | None = None) -> dict[str, Any]:
    """Return a preview as JSON values; `census` counts all lines, `lines` and `rows` hold at most `limit`."""
    return {
        "pipeline": found.pipeline,
        "census": {"lines": len(found.lines), "outcomes": found.outcomes, "reasons": found.reasons},
        "lines": [_line_report(line) for line in found.lines[:limit]],
        "columns": found.columns,
        "output_rows": len(found.rows),
        "rows": found.rows[:limit],
    }


def _line_report(line: JudgedLine) -> dict[str, Any]:
    meaning, advice = EXPLANATIONS[line.reason] if line.reason else (None, None)
    return {
        "line": line.number,
        "outcome": line.outcome,
        "reason": line.reason,
        "meaning": meaning,
        "what_to_do": advice,
        "fields": line.fields,
        "text": line.text,
    }


def show(found: Preview, limit: int | None, console: Console) -> None:
    """Print a preview for people: lines, census, rows."""
    width = len(str(len(found.lines)))
    for line in found.lines[:limit]:
        style, why = _STYLES[line.outcome], f"  {_why(line.reason)}" if line.reason else ""
        console.print(f"line {line.number:>{width}}  [{style}]{line.outcome}[/{style}]{why}")
        if content := _content(line):
            console.print(f"    {escape(content)}")
    _tell_rest(console, "line", len(found.lines), limit)
    console.print(f"\n{census(found)}")
    console.print(f"\n{len(found.rows):,} row{'' if len(found.rows) == 1 else 's'} of {found.pipeline}:")
    console.print(_table(found.columns, found.rows[:limit]))
    _tell_rest(console, "row", len(found.rows), limit)


def _why(reason: Reason) -> str:
    meaning, advice = EXPLANATIONS[reason]
    return f"{reason}: {meaning}; {advice}"


def census(found: Preview) -> str:
    """Return one sentence: how many lines have which outcome, and why."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in found.reasons.items())
    outcomes = [
        f"{count:,} {outcome}" + (f" ({reasons})" if outcome is Outcome.QUARANTINED and reasons else "")
        for outcome, count in found.outcomes.items()
    ]
    return f"{len(found.lines):,} line{'' if len(found.lines) == 1 else 's'}: {', '.join(outcomes)}"


def _content(line: JudgedLine) -> str:
    """Return the fields that a line has, or the line as it was written where they cannot be read."""
    if line.reason in FAULTS:
        return line.text if len(line.text) <= _TEXT else f"{line.text[:_TEXT]}..."
    return " ".join(f"{name}={_text(value)}" for name, value in line.fields.items() if value is not None)


def _table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name, kind in columns.items():
        numeric = kind in {"tinyint", "smallint", "int", "bigint", "float", "double"} or kind.startswith("decimal")
        table.add_column(f"{escape(name)}\n[dim]{escape(kind)}[/dim]", justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(escape(_text(row[name])) for name in columns))
    return table


def _text(value: Any) -> str:  # noqa: ANN401  JSON is any
    return value if isinstance(value, str) else json.dumps(value)


def _tell_rest(console: Console, what: str, count: int, limit: int | None) -> None:
    if limit is not None and count > limit:
        console.print(f"... and {count - limit:,} more {what}{'' if count - limit == 1 else 's'}", style="dim")
