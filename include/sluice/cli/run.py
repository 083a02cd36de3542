"""`sluice run`: try a pipeline on a few records, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sluice.cli.terminal.arguments import PipelineArgument
from sluice.cli.terminal.output import Output, OutputOption, counted, emit, err, terminal_for_data
from sluice.cli.terminal.sample_file import read_sample
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.interactive.trial import broker_time, refuse_tables, trial
from sluice.quality.arrivals import arrival_hint
from sluice.quality.preview import JudgedLine, Preview
from sluice.quality.reasons import FAULTS, Outcome, advice_of, meaning_of
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.specs.model.model import PipelineSpec, TopicSpec

_TEXT = 200
"""The number of characters shown of a line that does not decode."""
_STYLES = {Outcome.GOOD: "green", Outcome.QUARANTINED: "red", Outcome.LATE: "yellow", Outcome.CONTROL: "dim"}


def run(
    pipeline: PipelineArgument,
    sample: Annotated[
        list[str],
        typer.Option(metavar="FILE", help="JSON lines, optionally gzipped; - is stdin. Of several sources: NAME=FILE."),
    ],
    arrived_at: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%dT%H:%M:%S%z"],
            metavar="YYYY-MM-DDTHH:MM:SSZ",
            help="The broker's time of all lines. Required where the topic says `arrival_time: broker`; otherwise now.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Show at most this many lines and rows. All are processed and counted.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run validation and transform on a sample, with the same functions as the stream.

    It needs neither Kafka nor Airflow, and writes nothing. A sample is one batch: the watermark drops nothing, and
    operations that Spark cannot stream fail only when the stream starts.

    Exit codes: 0 it ran, whatever the outcomes of the lines; 2 a spec, the transform or the sample is wrong; 3 Spark
    cannot start.
    """
    config = settings()
    specs = scan(config.home / "include")
    spec = specs.pipeline(pipeline)
    refuse_tables(spec)
    files = _files(spec, sample)
    sampled = {name: specs.catalog.topics[spec.topic_sources[name].topic] for name in files}
    preview = trial(pipeline, _lines(files, sampled, arrived_at), arrived_at=arrived_at, place=config)
    emit(output, report(preview, limit), lambda: show(preview, limit, terminal_for_data()))
    for hint in _hints(preview, sampled):
        err.print(hint, style="yellow", soft_wrap=True)


def _hints(preview: Preview, topics: Mapping[str, TopicSpec]) -> Iterator[str]:
    for name, topic in topics.items():
        own = preview.of(name)
        if hint := arrival_hint(topic, own.outcomes, own.reasons):
            yield hint


def _lines(
    files: Mapping[str, str], topics: Mapping[str, TopicSpec], arrived_at: datetime | None
) -> dict[str, list[bytes]]:
    """Return the lines of each source's sample; what can be refused without a terminal is refused before it is read."""
    lines: dict[str, list[bytes]] = {}
    for name, topic in topics.items():
        lines[name] = [] if files[name] == "-" else read_sample(files[name])
        broker_time(topic, arrived_at, SystemClock(), lines[name])
    return {name: lines[name] or read_sample(file) for name, file in files.items()}


def _files(spec: PipelineSpec, samples: Sequence[str]) -> dict[str, str]:
    """Return the file of each source's sample.

    Raises:
        SpecError: it is not said whose a sample is, or two are of one source.
    """
    sources = spec.topic_sources
    if len(sources) == 1 and len(samples) == 1:
        (name,), (given,) = sources, samples
        return {name: given.removeprefix(f"{name}=")}
    files: dict[str, str] = {}
    for given in samples:
        name, equals, file = given.partition("=")
        if not equals or name not in sources:
            raise SpecError(
                f"{spec.name} reads {', '.join(sources)}, and --sample {given} names none of them.",
                fix=f"write --sample NAME=FILE, such as --sample {next(iter(sources))}=sample.jsonl.",
            )
        if name in files:
            raise SpecError(f"two samples of {name} are given.", fix="put their lines into one file.")
        files[name] = file
    if list(files.values()).count("-") > 1:
        raise SpecError("two samples are to come from standard input.", fix="name a file for one of them.")
    return files


def report(preview: Preview, limit: int | None = None) -> dict[str, Any]:
    """Return a preview as JSON values; `census` counts all lines, `lines` and `rows` hold at most `limit`."""
    return {
        "pipeline": preview.pipeline,
        "census": {"lines": len(preview.lines), "outcomes": preview.outcomes, "reasons": preview.reasons},
        "lines": [_line_report(line) for line in preview.lines[:limit]],
        "columns": preview.columns,
        "output_rows": len(preview.rows),
        "rows": preview.rows[:limit],
    }


def _line_report(line: JudgedLine) -> dict[str, Any]:
    return {
        **({"source": line.source} if line.source else {}),
        "line": line.number,
        "outcome": line.outcome,
        "reason": line.reason,
        "meaning": meaning_of(line.reason, line.detail) if line.reason else None,
        "what_to_do": advice_of(line.reason, line.detail) if line.reason else None,
        "fields": line.fields,
        "text": line.text,
    }


def show(preview: Preview, limit: int | None, console: Console) -> None:
    """Print a preview for people: lines, census, rows."""
    width = len(str(len(preview.lines)))
    for line in preview.lines[:limit]:
        style, why = _STYLES[line.outcome], ""
        if line.reason:
            why = f"  {line.reason}: {meaning_of(line.reason, line.detail)}; {advice_of(line.reason, line.detail)}"
        of = f" of {line.source}" if line.source else ""
        console.print(f"line {line.number:>{width}}{of}  [{style}]{line.outcome}[/{style}]{why}")
        if content := _content(line):
            console.print(f"    {escape(content)}")
    _print_rest(console, "line", len(preview.lines), limit)
    console.print(f"\n{census(preview)}")
    console.print(f"\n{counted(len(preview.rows), 'row')} of {preview.pipeline}:")
    console.print(_table(preview.columns, preview.rows[:limit]))
    _print_rest(console, "row", len(preview.rows), limit)


def census(preview: Preview) -> str:
    """Return the number of lines by outcome and reason, in one sentence."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in preview.reasons.items())
    outcomes = [
        f"{count:,} {outcome}" + (f" ({reasons})" if outcome is Outcome.QUARANTINED and reasons else "")
        for outcome, count in preview.outcomes.items()
    ]
    return f"{counted(len(preview.lines), 'line')}: {', '.join(outcomes)}"


def _content(line: JudgedLine) -> str:
    """Return the fields of a line, or its text if it does not decode."""
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


def _print_rest(console: Console, what: str, count: int, limit: int | None) -> None:
    if limit is not None and count > limit:
        console.print(f"... and {counted(count - limit, f'more {what}')}", style="dim")
