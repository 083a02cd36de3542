"""`sluice topics tail`: the newest records of a topic, and those that come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Annotated

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.escaping import Terminal
from sluice.cli.terminal.output import Output, OutputOption, as_json, as_text, err, out
from sluice.cli.views.record_view import as_dict, as_line
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.start import Edge, parse_moment
from sluice.topics.administration import KafkaAdministration, TopicExtent
from sluice.topics.follow import follow
from sluice.topics.names import unknown_topic
from sluice.topics.newest import MOST_OFFSETS, NewestRecords, Wanted, everything, newest, onwards
from sluice.topics.records import Record

_SHOWN_BYTES = 500
_PATIENCE_SECONDS = 10
_FROM_FORMS = "an offset, a time in UTC such as 2013-01-07T12:00, earliest or latest"


AnyTopic = Annotated[
    str, typer.Argument(help="A topic of the cluster, declared or not.", autocompletion=completion.topics)
]
LinesOption = Annotated[int, typer.Option("--lines", "-n", min=0, help="How many records.")]
KeyOption = Annotated[str | None, typer.Option(help="Only records with this key.")]
BeginOption = Annotated[
    str, typer.Option("--from", metavar="OFFSET|TIME|earliest", help="Begin there; else the newest.")
]
BytesOption = Annotated[
    int | None, typer.Option(min=1, help="Cut keys, headers and values after these; tables do after 500.")
]


def tail(
    *,
    topic: AnyTopic,
    most: LinesOption = 10,
    following: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    partition: Annotated[int | None, typer.Option(min=0, help="Only this partition.")] = None,
    since: BeginOption = "",
    key: KeyOption = None,
    max_bytes: BytesOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the newest records of a topic in order, one per line; with -o json one JSON object per line.

    Nothing is committed, and no consumer group is used. Over several partitions the order is that of the records'
    timestamps; within a partition it is always that of the offsets. With -f and --from all records from there on are
    shown, not -n of them.

    Exit codes: 0 shown, or Ctrl-C after -f; 2 an argument or a spec is wrong; 3 the stack is not up; 4 no broker
    answered; 5 the topic went while it was followed.
    """
    project = Project.open_tolerant(settings())
    show = Shown(topic, output, max_bytes)
    with (
        project.kafka.administration() as administration,
        project.kafka.reader(patience_seconds=_PATIENCE_SECONDS) as reader,
        contextlib.suppress(KeyboardInterrupt) if following else contextlib.nullcontext(),
    ):
        seen = choose(administration, topic, partition)
        wanted = everything if key is None else _with_key(key.encode())
        start = first_offsets(administration, seen, topic, since) if since else None
        if start is None:
            show.found(newest(reader, topic, seen, most, wanted=wanted))
        elif not following:
            show.found(onwards(reader, topic, start, seen.ends, most, wanted=wanted))
        if following:
            only, begin = () if partition is None else (partition,), start or seen.ends
            coming = follow(topic, seen, begin, administration, reader, clock=SystemClock(), tell=_tell, only=only)
            show.records(filter(wanted, coming))


def choose(administration: KafkaAdministration, topic: str, partition: int | None) -> TopicExtent:
    """Return what a topic holds, of one partition if only that is asked for.

    Raises:
        SpecError: there is no such topic, with the names that resemble it; or no such partition.
        UnreachableError: a partition has no leader, or nobody answered.
    """
    if topic not in (names := administration.names()):
        raise unknown_topic(topic, names)
    found = administration.extent(topic)
    if partition is None:
        return found
    if partition not in found.ends:
        raise SpecError(f"{topic} has no partition {partition}.", fix=f"name one of 0 to {len(found.ends) - 1}.")
    of_one = (partition,)
    return replace(
        found,
        beginnings={p: found.beginnings[p] for p in of_one},
        ends={p: found.ends[p] for p in of_one},
    )


def first_offsets(administration: KafkaAdministration, seen: TopicExtent, topic: str, since: str) -> Mapping[int, int]:
    """Return where to begin, per partition.

    Args:
        administration: knows the times of records.
        seen: what the topic holds, of the partitions that are asked for.
        topic: its name.
        since: an offset, a time or an edge.

    Raises:
        SpecError: it is none of these; or an offset, of several partitions or beyond the last record.
    """
    if since.isdecimal() and since.isascii():
        return _from_offset(seen, topic, int(since))
    try:
        position = parse_moment(since, zone=UTC)
    except ValueError:
        raise SpecError(f"{since!r} is no place to begin.", fix=f"write {_FROM_FORMS}.") from None
    if isinstance(position, Edge):
        return seen.beginnings if position is Edge.EARLIEST else seen.ends
    found = administration.offsets_at(topic, position)
    return {partition: found[partition] for partition in seen.ends}


def _from_offset(seen: TopicExtent, topic: str, offset: int) -> Mapping[int, int]:
    if len(seen.ends) != 1:
        raise SpecError(
            f"Offsets count per partition, and {topic} has {len(seen.ends)}.", fix="name one by --partition."
        )
    ((partition, end),) = seen.ends.items()
    first = seen.beginnings[partition]
    if offset > end:
        raise SpecError(f"{topic}/{partition} has no offset {offset} yet.", fix=f"its next record gets {end}.")
    if offset < first:
        _tell(f"{topic}/{partition} no longer has the offset {offset}: it begins with {first}.")
    return {partition: max(offset, first)}


def _with_key(key: bytes) -> Wanted:
    return lambda record: record.key == key


class Shown:
    """Prints records; notes go to stderr, so that programs get nothing else."""

    def __init__(self, topic: str, output: Output, max_bytes: int | None) -> None:
        self._topic, self._output = topic, output
        self._most = max_bytes or (None if output.for_programs else _SHOWN_BYTES)
        self._terminal = Terminal(soft_wrap=True, markup=False)

    def records(self, records: Iterable[Record]) -> None:
        """Print each record as it comes."""
        for record in records:
            if self._output is Output.YAML:  # one list, an item at a time
                out.write(as_text(self._output, [as_dict(self._topic, record, self._most)]))
            elif self._output is Output.JSON:
                out.write(f"{as_json(as_dict(self._topic, record, self._most))}\n")
            else:
                self._terminal.print(as_line(record, self._most))

    def found(self, found: NewestRecords) -> None:
        """Print what was found, and note what else there may be."""
        self.records(found.records)
        if found.given_up:
            which = ", ".join(map(str, found.given_up))
            _tell(f"Looked at {MOST_OFFSETS:,} offsets of partition {which}; --from begins elsewhere.")
        elif found.more:
            _tell("More may follow; -n shows more, -f all.")


def _tell(sentence: str) -> None:
    err.print(sentence, style="yellow", markup=False, soft_wrap=True)
