"""`sluice run`: what a pipeline makes of a few records, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, err, print_data, terminal_for_data
from sluice.cli.terminal.sample_file import read_sample
from sluice.clock import SystemClock
from sluice.interactive.trial import broker_time, in_lines, trial
from sluice.quality.arrivals import arrival_hint
from sluice.quality.preview import JudgedLine, Preview
from sluice.quality.reasons import FAULTS, Outcome, Reason, advice_of, meaning_of
from sluice.settings import settings
from sluice.specs.load import scan

_TEXT = 200
"""How many characters of a line that does not decode are shown."""
_STYLES = {Outcome.GOOD: "green", Outcome.QUARANTINED: "red", Outcome.LATE: "yellow", Outcome.CONTROL: "dim"}


def run(
    pipeline: Annotated[
        str,
        typer.Argument(help="A file in include/pipelines, without its ending.", autocompletion=completion.pipelines),
    ],
    sample: Annotated[str, typer.Option(metavar="FILE", help="One JSON value per line, or gzip of it; - is stdin.")],
    arrived_at: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%dT%H:%M:%S%z"],
            metavar="YYYY-MM-DDTHH:MM:SSZ",
            help="When the broker got every line; needed where the topic says `arrival_time: broker`, else now.",
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
    topic = specs.catalog.topics[specs.pipeline(pipeline).source]
    in_lines(topic)  # what cannot be run is said before the sample is read: standard input may be a person
    broker_time(topic, arrived_at, SystemClock())
    found = trial(pipeline, read_sample(sample), arrived_at=arrived_at, place=place)
    if output.for_programs:
        print_data(output, report(found, limit))
    else:
        show(found, limit, terminal_for_data())
    if hint := arrival_hint(topic, found.outcomes, found.reasons):
        err.print(hint, style="yellow", soft_wrap=True)


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
    return {
        "line": line.number,
        "outcome": line.outcome,
        "reason": line.reason,
        "meaning": meaning_of(line.reason, line.detail) if line.reason else None,
        "what_to_do": advice_of(line.reason, line.detail) if line.reason else None,
        "fields": line.fields,
        "text": line.text,
    }


def show(found: Preview, limit: int | None, console: Console) -> None:
    """Print a preview for people: lines, census, rows."""
    width = len(str(len(found.lines)))
    for line in found.lines[:limit]:
        style, why = _STYLES[line.outcome], f"  {_why(line.reason, line.detail)}" if line.reason else ""
        console.print(f"line {line.number:>{width}}  [{style}]{line.outcome}[/{style}]{why}")
        if content := _content(line):
            console.print(f"    {escape(content)}")
    _tell_rest(console, "line", len(found.lines), limit)
    console.print(f"\n{census(found)}")
    console.print(f"\n{len(found.rows):,} row{'' if len(found.rows) == 1 else 's'} of {found.pipeline}:")
    console.print(_table(found.columns, found.rows[:limit]))
    _tell_rest(console, "row", len(found.rows), limit)


def _why(reason: Reason, detail: str | None) -> str:
    return f"{reason}: {meaning_of(reason, detail)}; {advice_of(reason, detail)}"


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
