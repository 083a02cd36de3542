"""`sluice topics send`: send the lines of a file to a topic, for a first try. Unlike a feed it cannot resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import err, out_lines
from sluice.cli.terminal.sample_file import read_sample
from sluice.errors import SpecError, UnreachableError
from sluice.feeds.ports import Producer
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.access import Role
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_value import read_fields
from sluice.topics.json_object import read_object
from sluice.topics.names import near
from sluice.topics.records import RecordTooLargeError

_IN_FLIGHT = 1000
"""The most records without an acknowledgement, which is what an interruption leaves unknown."""


def send(
    topic: Annotated[str, typer.Argument(help="A declared topic.", autocompletion=completion.topics)],
    file: Annotated[str, typer.Argument(metavar="FILE", help="One value per line, optionally gzipped; - is stdin.")],
    key: Annotated[str, typer.Option(metavar="FIELD", help="The field whose value is the record's key.")] = "",
    skip: Annotated[int, typer.Option(min=0, help="Skip this many lines, which an earlier run has sent.")] = 0,
) -> None:
    """Send each line of a file as a record, acknowledged by all replicas. A second run duplicates the records.

    Exit codes: 0 all were acknowledged; 2 the file or the topic is wrong; 3 the stack is not up; 4 a record was not
    acknowledged, 5 it is larger than the topic takes; the message has the number of those that were.
    """
    from sluice.kafka.producer import KafkaPythonProducer  # noqa: PLC0415 - bad input does not import the client

    project = Project.open_tolerant(settings())
    if topic not in (declared := project.catalog.kafka_topics()):
        raise SpecError(f"no spec declares a topic {topic!r}.", fix=near(topic, declared))
    lines = read_sample(file)[skip:]
    spec = project.catalog.topics.get(topic)
    keys = keys_of(lines, key, skip, spec.value if spec else None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        KafkaPythonProducer(
            project.kafka.bootstrap(),
            topic,
            project.kafka.client(Role.FEED),
            largest_batch=declared[topic].largest_batch,
        ) as producer,
        Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar,
    ):
        task = bar.add_task(topic, total=len(lines))
        send_lines(producer, lines, keys, skip=skip, report=lambda sent: bar.update(task, completed=sent))
    out_lines.print(f"Sent {len(lines):,} records to {topic}.")


def send_lines(
    producer: Producer,
    lines: Sequence[bytes],
    keys: Sequence[bytes | None],
    *,
    skip: int,
    report: Callable[[int], None],
) -> None:
    """Send each line with its key, and return when all are acknowledged.

    Args:
        producer: of the topic.
        lines: what is sent.
        keys: of each line.
        skip: how many lines of the file come before them.
        report: gets the number of acknowledged lines.

    Raises:
        RecordTooLargeError: a line is larger than the topic takes; with the number of those that were acknowledged.
        UnreachableError: a line was not acknowledged; likewise.
    """
    sent = 0
    try:
        for first in range(0, len(lines), _IN_FLIGHT):
            part = slice(first, first + _IN_FLIGHT)
            for waiting in list(map(producer.send, keys[part], lines[part])):
                waiting.wait()
                sent += 1
            report(sent)
    except (RecordTooLargeError, UnreachableError) as error:
        change = "make that line shorter, and " if isinstance(error, RecordTooLargeError) else ""
        raise type(error)(
            f"{sent:,} of {len(lines):,} lines were acknowledged; some others may have arrived. {error.message}",
            fix=f"{change}run it again with --skip {skip + sent}.",
        ) from error


def keys_of(
    lines: Sequence[bytes], field: str, skip: int = 0, declared: TopicValue | None = None
) -> list[bytes | None]:
    """Return the key of each line, in bytes; None for all lines without a field.

    Raises:
        SpecError: a line has no fields, or lacks this one.
    """
    if not field:
        return [None] * len(lines)
    keys: list[bytes | None] = []
    for number, line in enumerate(lines, skip + 1):
        fields = read_object(line) if declared is None else read_fields(line, declared)
        if fields is None or field not in fields:
            raise SpecError(
                f"line {number} has no field {field!r} for its key.", fix="choose another field, or omit --key."
            )
        value = fields[field]
        keys.append(value.encode() if isinstance(value, str) else json.dumps(value).encode())
    return keys
