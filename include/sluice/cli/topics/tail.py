"""`sluice topics tail`: the newest records of a topic, and new ones as they arrive."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Annotated

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.escaping import Terminal
from sluice.cli.terminal.output import Output, OutputOption, as_json, as_text, err_lines, out
from sluice.cli.views.record_view import as_dict, as_line
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.start import Edge, parse_moment
from sluice.topics.administration import KafkaAdministration, TopicExtent
from sluice.topics.follow import follow
from sluice.topics.names import unknown_topic
from sluice.topics.newest import MAX_OFFSETS, NewestRecords, Wanted, everything, newest, onwards
from sluice.topics.records import Record

_SHOWN_BYTES = 500
_PATIENCE_SECONDS = 10
_FROM_FORMS = "an offset, a time in UTC such as 2013-01-07T12:00, earliest or latest"


AnyTopic = Annotated[
    str, typer.Argument(help="A topic of the cluster, declared or not.", autocompletion=completion.topics)
]
LinesOption = Annotated[int, typer.Option("--lines", "-n", min=0, help="The number of records.")]
KeyOption = Annotated[str | None, typer.Option(help="Only records with this key.")]
BeginOption = Annotated[
    str, typer.Option("--from", metavar="OFFSET|TIME|earliest", help="Begin there. Default: the newest records.")
]
BytesOption = Annotated[
    int | None, typer.Option(min=1, help="Cut keys, headers and values after this many bytes. Default: 500 in tables.")
]


def tail(
    *,
    topic: AnyTopic,
    most: LinesOption = 10,
    following: Annotated[bool, typer.Option("--follow", "-f", help="Follow the topic until Ctrl-C.")] = False,
    partition: Annotated[int | None, typer.Option(min=0, help="Only this partition.")] = None,
    since: BeginOption = "",
    key: KeyOption = None,
    max_bytes: BytesOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the newest records of a topic in order, one per line; with -o json one JSON object per line.

    It commits nothing and uses no consumer group. Records are ordered by timestamp across partitions, and always by
    offset within one. With -f and --from it shows all records from there on, regardless of -n.

    Exit codes: 0; 2 an argument or a spec is wrong; 3 the stack is not up; 4 no broker answered; 5 the topic was
    deleted while it was followed.
    """
    project = Project.open_tolerant(settings())
    printer = RecordPrinter(topic, output, max_bytes)
    with (
        project.kafka.administration() as administration,
        project.kafka.reader(patience_seconds=_PATIENCE_SECONDS) as reader,
        contextlib.suppress(KeyboardInterrupt) if following else contextlib.nullcontext(),
    ):
        extent = choose(administration, topic, partition)
        wanted: Wanted = everything if key is None else lambda record: record.key == key.encode()
        start = first_offsets(administration, extent, topic, since) if since else None
        if start is None:
            printer.newest(newest(reader, topic, extent, most, wanted=wanted))
        elif not following:
            printer.newest(onwards(reader, topic, start, extent.ends, most, wanted=wanted))
        if following:
            only, begin = () if partition is None else (partition,), start or extent.ends
            coming = follow(topic, extent, begin, administration, reader, clock=SystemClock(), report=_note, only=only)
            printer.records(filter(wanted, coming))


def choose(administration: KafkaAdministration, topic: str, partition: int | None) -> TopicExtent:
    """Return the first and next offsets of a topic's partitions, or of one partition.

    Raises:
        SpecError: the topic (the message suggests similar names) or the partition does not exist.
        UnreachableError: a partition has no leader, or no broker answered.
    """
    if topic not in (names := administration.names()):
        raise unknown_topic(topic, names)
    extent = administration.extent(topic)
    if partition is None:
        return extent
    if partition not in extent.ends:
        raise SpecError(f"{topic} has no partition {partition}.", fix=f"use one of 0 to {len(extent.ends) - 1}.")
    beginning, end = extent.beginnings[partition], extent.ends[partition]
    return replace(extent, beginnings={partition: beginning}, ends={partition: end})


def first_offsets(
    administration: KafkaAdministration, extent: TopicExtent, topic: str, since: str
) -> Mapping[int, int]:
    """Return the offset to begin at, per partition.

    Args:
        administration: looks up the offsets of a time.
        extent: the offsets of the selected partitions.
        topic: its name.
        since: an offset, a time, `earliest` or `latest`.

    Raises:
        SpecError: it is none of these; or an offset, for several partitions or beyond the last record.
    """
    if since.isdecimal() and since.isascii():
        return _from_offset(extent, topic, int(since))
    try:
        position = parse_moment(since, zone=UTC)
    except ValueError:
        raise SpecError(f"{since!r} is not a position.", fix=f"write {_FROM_FORMS}.") from None
    if isinstance(position, Edge):
        return extent.beginnings if position is Edge.EARLIEST else extent.ends
    offsets = administration.offsets_at(topic, position)
    return {partition: offsets[partition] for partition in extent.ends}


def _from_offset(extent: TopicExtent, topic: str, offset: int) -> Mapping[int, int]:
    if len(extent.ends) != 1:
        raise SpecError(
            f"Offsets count per partition, and {topic} has {len(extent.ends)}.", fix="choose one with --partition."
        )
    ((partition, end),) = extent.ends.items()
    first = extent.beginnings[partition]
    if offset > end:
        raise SpecError(
            f"{topic}/{partition} has no offset {offset} yet.", fix=f"its next record gets the offset {end}."
        )
    if offset < first:
        _note(f"{topic}/{partition} no longer has the offset {offset}; it begins at {first}.")
    return {partition: max(offset, first)}


class RecordPrinter:
    """Prints records on stdout and notes on stderr."""

    def __init__(self, topic: str, output: Output, max_bytes: int | None) -> None:
        self._topic, self._output = topic, output
        self._most = max_bytes or (None if output.for_programs else _SHOWN_BYTES)
        self._terminal = Terminal(soft_wrap=True, markup=False)

    def records(self, records: Iterable[Record]) -> None:
        """Print each record as it arrives."""
        for record in records:
            if self._output is Output.YAML:  # one list, an item at a time
                out.write(as_text(self._output, [as_dict(self._topic, record, self._most)]))
            elif self._output is Output.JSON:
                out.write(f"{as_json(as_dict(self._topic, record, self._most))}\n")
            else:
                self._terminal.print(as_line(record, self._most))

    def newest(self, newest: NewestRecords) -> None:
        """Print records, with a note if there may be more."""
        self.records(newest.records)
        if newest.given_up:
            which = ", ".join(map(str, newest.given_up))
            _note(f"Stopped after {MAX_OFFSETS:,} offsets of partition {which}; --from begins elsewhere.")
        elif newest.more:
            _note("There may be more; -n shows more, -f all.")


def _note(sentence: str) -> None:
    err_lines.print(sentence, style="yellow")
