"""`sluice new`: write first versions of a topic, a feed and a pipeline, which are valid and have tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.scaffold.feeds import FOLDER, feed_files
from sluice.cli.scaffold.pipelines import pipeline_files
from sluice.cli.scaffold.topics import (
    GuessedField,
    guess_fields,
    late_arrival_warning,
    left_out_notes,
    sample_of,
    time_of,
    topic_text,
)
from sluice.cli.terminal import completion
from sluice.cli.terminal.output import err_lines, out_lines
from sluice.cli.terminal.sample_file import read_sample
from sluice.clock import SystemClock
from sluice.errors import RefusedError, SpecError
from sluice.feeds.lines import Fields, read_lines
from sluice.settings import settings
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.load import scan
from sluice.specs.model.model import FieldType, TopicSpec
from sluice.specs.model.spec import NAME_PATTERN
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.rules.feed_rules import misfits

app = typer.Typer(help="Write a first version of a topic, a feed or a pipeline.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="The name: lower-case letters, digits and underscores.")]
_WITHOUT_SAMPLE = {
    "id": GuessedField(FieldType.STRING, required=True),
    "at": GuessedField(FieldType.TIMESTAMP, required=True),
}


@app.command()
def topic(
    *,
    name: NameArgument,
    sample: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Records, one JSON object per line; - is stdin. Default: a spec with two fields."
        ),
    ] = "",
    event_time: Annotated[str, typer.Option(help="The field with the time at which a record happened.")] = "",
    arrival_time: Annotated[
        str, typer.Option(help="The field with the time at which it became known. Default: the broker's time.")
    ] = "",
    partitions: Annotated[int, typer.Option(min=1, help="The number of partitions.")] = 4,
    owner: Annotated[str, typer.Option(help="The owner, a person or a team.")] = "",
) -> None:
    """Write the spec of a topic, with the fields of a sample.

    Exit codes: 0; 2 the name or the sample is wrong; 5 the file exists.
    """
    _check(name)
    seen = sample_of(read_sample(sample)) if sample else None
    fields = guess_fields(seen) if seen else _WITHOUT_SAMPLE
    at, arrival = time_of(fields, event_time), time_of(fields, arrival_time) if arrival_time else ""
    notes = left_out_notes(seen) if seen else []
    text = topic_text(name, fields, at, arrival_time=arrival, partitions=partitions, owner=owner, left_out=notes)
    _write({f"include/topics/{name}.yaml": text})
    for note in notes:
        out_lines.print(note)
    if note := late_arrival_warning(seen, fields, at, arrival, SystemClock().now()) if seen else "":
        err_lines.print(note, style="yellow")
    out_lines.print(f"\nNext: sluice check, then sluice new pipeline NAME --source {name}")


@app.command()
def pipeline(
    name: NameArgument,
    source: Annotated[
        str, typer.Option(help="The topic that it reads, in include/topics.", autocompletion=completion.topics)
    ],
    owner: Annotated[str, typer.Option(help="The owner, a person or a team.")] = "unassigned",
    *,
    sql: Annotated[bool, typer.Option("--sql", help="Write the transform as a SELECT, and not in Python.")] = False,
) -> None:
    """Write a pipeline that counts the records of each hour: spec, transform, suite and test.

    Exit codes: 0; 2 the name is wrong, or the topic does not exist; 5 one of the files exists.
    """
    _check(name)
    _write(pipeline_files(name, _topic(source), owner=owner, sql=sql))
    out_lines.print(f"\nNext: sluice check, then pytest tests/pipelines/test_{name}.py")


@app.command()
def feed(
    *,
    name: NameArgument,
    topic: Annotated[
        str, typer.Option(help="The topic that it fills, in include/topics.", autocompletion=completion.topics)
    ],
    sample: Annotated[
        str, typer.Option("--from", metavar="FILE", help="The records, one JSON object per line; - is stdin.")
    ],
    key: Annotated[str, typer.Option(metavar="FIELD", help="The field whose value is the record's key.")] = "",
    arrival_time: Annotated[
        str,
        typer.Option(metavar="FIELD", help="The field that orders the records. Default: the topic's arrival time."),
    ] = "",
) -> None:
    """Write the spec of a feed that sends a file of records, and copy the file.

    Exit codes: 0; 2 the name or lines of the file are wrong (all are listed), or the topic does not exist; 5 one of the
    files exists.
    """
    _check(name)
    filled = _topic(topic)
    if wrong := list(misfits(filled, key or None, arrival_time or None)):
        raise SpecError(" ".join(message for _, message, _ in wrong), fix=" ".join(fix for _, _, fix in wrong))
    path, order = f"{FOLDER}/{name}.jsonl", arrival_time or None
    spec = FeedSpec(name=name, topic=topic, source="file", path=path, key=key or None, arrival_time=order)
    lines = read_sample(sample)
    if faults := read_lines(lines, sample, Fields.of(spec, filled.value))[1]:
        raise SpecFaults(faults)
    _write(feed_files(spec, lines))
    out_lines.print(f"\nNext: sluice check, then sluice feed send {name}")


def _topic(name: str) -> TopicSpec:
    catalog = scan(settings().home / "include").catalog
    if name not in catalog.topics:
        known = ", ".join(sorted(catalog.topics)) or "none"
        raise SpecError(
            f"there is no valid topic {name!r}; valid topics: {known}.", fix="`sluice new topic` writes one."
        )
    return catalog.topics[name]


def _check(name: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name):
        raise SpecError(
            f"{name!r} is not a valid name: it needs a letter, then lower-case letters, digits and underscores.",
            fix="choose another name.",
        )


def _write(files: Mapping[str, str | bytes]) -> None:
    """Write all files or none."""
    home = settings().home
    if taken := [path for path in files if (home / path).exists()]:
        raise RefusedError(f"{', '.join(taken)} already exists.", fix="choose another name, or edit the file.")
    for path, data in files.items():
        file: Path = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        out_lines.print(f"wrote {path}")
