"""Records of a topic as they come, through whatever becomes of the brokers and of the topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from sluice.clock import Clock
from sluice.errors import UnreachableError
from sluice.topics.administration import KafkaAdministration, TopicExtent
from sluice.topics.records import Record, RecordReader

Report: TypeAlias = Callable[[str], None]
"""Shows one sentence to the user who follows."""

_PAUSE_SECONDS = 0.5


def follow(
    topic: str,
    seen: TopicExtent,
    start: Mapping[int, int],
    administration: KafkaAdministration,
    reader: RecordReader,
    *,
    clock: Clock,
    report: Report,
    only: Collection[int] = (),
) -> Iterator[Record]:
    """Yield a topic's records from `start` on, for ever; each once, ordered by offset within a partition.

    It waits for brokers that are away, and reports a topic that was created again, lost records or got partitions.

    Args:
        topic: its name.
        seen: what it held at first.
        start: the first offset, per partition.
        administration: says how far it goes.
        reader: reads it.
        clock: to wait by.
        report: hears what a person should know.
        only: partitions to follow; empty: all, also those that come.

    Raises:
        SluiceError: the topic is gone, or a record cannot be read however often it is tried.
    """
    topic_id, at, outage = seen.topic_id, dict(start), _Outage(report)
    while True:
        try:
            extent = administration.extent(topic)
            outage.end()
            if extent.topic_id != topic_id:
                report(f"{topic} was deleted and created again; what follows is the new one, from its first record.")
                topic_id, at = extent.topic_id, {}
            yield from _onwards(topic, at, extent, reader, report=report, only=only)
        except UnreachableError as error:
            outage.begin(error)
        clock.sleep(_PAUSE_SECONDS)


class _Outage:
    """A time without brokers; its beginning and its end are reported once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._lasts = False

    def begin(self, error: UnreachableError) -> None:
        if not self._lasts:
            self._report(f"{error.message} It is tried again until a broker answers.")
        self._lasts = True

    def end(self) -> None:
        if self._lasts:
            self._report("The brokers answer again.")
        self._lasts = False


def _onwards(
    topic: str, at: dict[int, int], extent: TopicExtent, reader: RecordReader, *, report: Report, only: Collection[int]
) -> Iterator[Record]:
    """Yield the records from `at` to the ends that were found; `at` goes on with each."""
    ends = {p: end for p, end in extent.ends.items() if not only or p in only}
    for partition in ends:
        _settle(topic, partition, at, extent, report)
    for record in reader.read(topic, dict(at), ends):
        at[record.partition] = record.offset + 1
        yield record
    at |= ends


def _settle(topic: str, partition: int, at: dict[int, int], extent: TopicExtent, report: Report) -> None:
    """Go on within what there is, and tell where that leaves something out."""
    first, end = extent.beginnings[partition], extent.ends[partition]
    wanted = at.setdefault(partition, first)
    if wanted < first:
        report(f"The records {wanted} to {first - 1} of {topic}/{partition} were deleted before they could be read.")
    elif wanted > end:
        report(f"{topic}/{partition} ends at offset {end} and had reached {wanted} before: the brokers lost records.")
    at[partition] = min(max(wanted, first), end)
