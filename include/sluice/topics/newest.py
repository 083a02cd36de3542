"""A few records of a topic in order: the newest, or the first from some offsets on. Reads no more than it needs."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TypeAlias

from sluice.topics.administration import TopicExtent
from sluice.topics.records import Record, RecordReader

Wanted: TypeAlias = Callable[[Record], bool]
"""Which records are looked for."""

MAX_OFFSETS = 100_000
"""Of each partition: a search for the records of a key goes no further."""

_GROWTH = 4
_NO_TIME = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class NewestRecords:
    """What was read.

    Attributes:
        records: ordered by time, and by offset within a partition.
        given_up: partitions of which more is there than was checked, although too few were found.
        more: whether records may follow on the last one: further offsets there are.
    """

    records: tuple[Record, ...]
    given_up: tuple[int, ...] = ()
    more: bool = False


def everything(_record: Record) -> bool:
    """Want every record."""
    return True


def newest(
    reader: RecordReader, topic: str, extent: TopicExtent, most: int, *, wanted: Wanted = everything
) -> NewestRecords:
    """Return the newest records of the partitions in a topic's extent.

    Offsets without a record are no reason to return fewer: it goes back until there are enough, in growing steps.

    Raises:
        UnreachableError: the broker did not answer.
    """
    first, at = extent.beginnings, dict(extent.ends)
    by_partition: dict[int, list[Record]] = {partition: [] for partition in at}
    size = most
    while pending := [p for p in at if len(by_partition[p]) < most and at[p] > _lowest(first[p], extent.ends[p])]:
        start = {p: max(_lowest(first[p], extent.ends[p]), at[p] - size) for p in pending}
        read = _read(reader, topic, start, {p: at[p] for p in pending}, wanted)
        for partition in pending:
            by_partition[partition] = [*read[partition], *by_partition[partition]][-most:]
        at |= start
        size *= _GROWTH
    backwards = (reversed(records) for records in by_partition.values())
    latest = list(islice(heapq.merge(*backwards, key=_time, reverse=True), most))
    given_up = [p for p in at if len(by_partition[p]) < most and at[p] > first[p]]
    return NewestRecords(tuple(reversed(latest)), tuple(given_up) if len(latest) < most else ())


def onwards(
    reader: RecordReader,
    topic: str,
    start: Mapping[int, int],
    end: Mapping[int, int],
    most: int,
    *,
    wanted: Wanted = everything,
) -> NewestRecords:
    """Return the first records from `start` on, per partition; otherwise as `newest`."""
    at = {partition: start[partition] for partition in end}
    by_partition: dict[int, list[Record]] = {partition: [] for partition in end}
    size = most
    while pending := [p for p in at if len(by_partition[p]) < most and at[p] < min(end[p], start[p] + MAX_OFFSETS)]:
        stop = {p: min(end[p], start[p] + MAX_OFFSETS, at[p] + size) for p in pending}
        read = _read(reader, topic, {p: at[p] for p in pending}, stop, wanted)
        for partition in pending:
            by_partition[partition] = [*by_partition[partition], *read[partition]]
        at |= stop
        size *= _GROWTH
    earliest = list(islice(heapq.merge(*by_partition.values(), key=_time), most))
    short = len(earliest) < most
    given_up = [p for p in at if len(by_partition[p]) < most and at[p] < end[p]]
    more = any(at[p] < end[p] for p in at) or sum(map(len, by_partition.values())) > most
    return NewestRecords(tuple(earliest), tuple(given_up) if short else (), more and not short)


def _lowest(first: int, end: int) -> int:
    return max(first, end - MAX_OFFSETS)


def _read(
    reader: RecordReader, topic: str, start: Mapping[int, int], end: Mapping[int, int], wanted: Wanted
) -> Mapping[int, list[Record]]:
    by_partition: dict[int, list[Record]] = defaultdict(list)
    for record in filter(wanted, reader.read(topic, start, end)):
        by_partition[record.partition].append(record)
    return by_partition


def _time(record: Record) -> datetime:
    return record.at or _NO_TIME
