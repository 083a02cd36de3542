"""Whether a raw table conserves its topic: no offset is missing without a reason, and its bytes are Kafka's.

A batch over the raw table agrees with the stream, which read the same table, also where that table lacks a record. Only
Kafka can tell, while it has the record. So verify checks the offsets around the records that it reads:

* The range: in each partition from the first to the last record of the read range and a day around it, widened by
  1,000 offsets as far as the table goes. The day gives a partition with few records neighbours on both sides, the
  offsets a table whose edge is near. A range ends after ten million offsets.
* Every offset in it must be in the table once. One that is missing may lie in a hole that the table's log names;
  otherwise Kafka is asked, up to a number of gaps. A transaction's mark or an aborted record is no record.
* Of what Kafka holds, a few hundred records of each partition are compared byte by byte: the first, the last, and some
  in between that the seed chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Protocol

from sluice.errors import SluiceError
from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.backfill.raw_parity import RawFault, RawFaultKind, RawParity, first
from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import Hole, RawPosition
from sluice.intervals.record_positions import OffsetRange, PartitionRange, RecordPositions, TopicPosition

MAX_OFFSETS = 10_000_000
"""Of one partition that are looked for."""
MAX_GAPS = 50_000
"""Of one partition that are listed."""
MAX_LOOKED_UP = 300
"""Gaps of one partition that Kafka is asked about."""
STRETCH, STRETCHES = 32, 8
"""Offsets in a row that are compared, and how many such stretches between the first and the last one."""

_DAY = timedelta(days=1)
_NEIGHBOURS = 1_000
_END_OF_GAP = 500

PartitionKey = tuple[str, int]
"""Topic id, partition."""


@dataclass(frozen=True)
class StoredRecord:
    """A record's content, as the raw table or Kafka holds it.

    Attributes:
        key: None where it has none.
        value: None of a tombstone.
        headers: in their order.
        timestamp: Kafka's, in milliseconds since 1970, which may be beyond any calendar; None where it has none.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int | None

    def differing(self, other: StoredRecord) -> tuple[str, ...]:
        """Return the names of the parts that differ."""
        return tuple(name for name in ("key", "value", "headers", "timestamp") if vars(self)[name] != vars(other)[name])


@dataclass(frozen=True)
class OffsetCensus:
    """Which offsets of a range a raw table has.

    Attributes:
        missing: ranges that it lacks, in order, up to `MAX_GAPS` of them.
        unlisted: offsets that it lacks beyond these.
        repetitions: rows beyond the first of an offset.
        repeated: a few offsets that it has more than once.
    """

    missing: tuple[OffsetRange, ...] = ()
    unlisted: int = 0
    repetitions: int = 0
    repeated: tuple[int, ...] = ()


@dataclass(frozen=True)
class HeldOffsets:
    """What Kafka holds of a topic.

    Attributes:
        topic_id: the cluster's UUID of it.
        ranges: the offsets of each partition between its first one and the last that a committed reader may read.
    """

    topic_id: str
    ranges: Mapping[int, OffsetRange]


class RawRecords(Protocol):
    """A raw table at one version."""

    def spans(self, times: Sequence[Interval]) -> Mapping[PartitionKey, OffsetRange]:
        """Return the first and the last offset of the records in some ranges of event time."""
        ...

    def census(self, spans: Mapping[PartitionKey, OffsetRange]) -> Mapping[PartitionKey, OffsetCensus]:
        """Return which offsets are there."""
        ...

    def begins_at(self, key: PartitionKey, offset: int) -> bool:
        """Whether nothing of a partition lies below an offset."""
        ...

    def records(self, positions: RecordPositions) -> Mapping[TopicPosition, StoredRecord]:
        """Return the records at some positions."""
        ...


class KafkaRecords(Protocol):
    """A topic as a consumer of committed records sees it. Both methods raise SluiceError if Kafka does not answer."""

    def held(self) -> HeldOffsets:
        """Return what it holds."""
        ...

    def records(self, ranges: Mapping[int, Sequence[OffsetRange]]) -> Iterable[tuple[int, int, StoredRecord]]:
        """Yield partition, offset and content of the committed records in some ranges, each in order."""
        ...


def compare_with_kafka(
    raw: RawRecords,
    kafka: Callable[[], KafkaRecords],
    position: RawPosition,
    times: Iterable[Interval],
    *,
    topic: str,
    seed: str,
) -> RawParity:
    """Compare the part of a raw table that holds the records of some times with Kafka.

    Kafka may be out of reach: the result says so, and what the raw table alone tells.

    Args:
        raw: the table.
        kafka: opens its topic; raises SluiceError if it cannot.
        position: how far the table goes, and its holes.
        times: the ranges of event time that are read.
        topic: the topic's name.
        seed: chooses the records that are compared.
    """
    counted = _Counted.of(raw, position, contiguous(_around(times)), topic)
    alone = counted.parity(position)
    try:
        opened = kafka()
        compared = _Comparison(topic, seed, opened.held(), counted, position.floor).run(raw, opened)
    except SluiceError as error:
        lacking = sum(map(_count, counted.missing.values()))
        return replace(alone, unchecked=alone.unchecked + lacking, not_compared=str(error))
    return RawParity.joined([alone, compared]) or alone


@dataclass(frozen=True)
class _Counted:
    """What the raw table alone tells.

    Attributes:
        topic: its name.
        spans: the ranges that are checked.
        census: which of their offsets are there.
        missing: what is not, but for known holes.
        unread: of that, what lies below the first record that the table has of a partition: it may begin there.
        cut_off: offsets beyond the longest range.
        first: the earliest time that was looked for; None: none was.
    """

    topic: str
    spans: Mapping[PartitionKey, OffsetRange]
    census: Mapping[PartitionKey, OffsetCensus]
    missing: Mapping[PartitionKey, tuple[OffsetRange, ...]]
    unread: Mapping[PartitionKey, tuple[OffsetRange, ...]]
    cut_off: int
    first: datetime | None = None

    @classmethod
    def of(cls, raw: RawRecords, position: RawPosition, times: Sequence[Interval], topic: str) -> _Counted:
        """Count the offsets around the records of some times."""
        found = {key: _widened(key, span, position, topic) for key, span in raw.spans(times).items()}
        spans = {key: (begin, min(last, begin + MAX_OFFSETS - 1)) for key, (begin, last) in found.items()}
        census = raw.census(spans)
        holes = RecordPositions.joined(map(_of_hole, position.holes))
        missing = {key: tuple(_without(census[key].missing, _own(holes, key))) for key in spans}
        unread = {
            key: gaps[:1]
            for key, gaps in missing.items()
            if gaps and gaps[0][0] == spans[key][0] and raw.begins_at(key, spans[key][0])
        }
        cut_off = _count(found.values()) - _count(spans.values())
        return cls(topic, spans, census, missing, unread, cut_off, min((each.start for each in times), default=None))

    def parity(self, position: RawPosition) -> RawParity:
        """Return what that amounts to."""
        repeated = (
            RawFault(topic_id, f"{self.topic}/{partition}", offset, RawFaultKind.REPEATED)
            for (topic_id, partition), census in self.census.items()
            for offset in census.repeated
        )
        repetitions = sum(census.repetitions for census in self.census.values())
        return RawParity(
            partitions=len(self.spans),
            idle=len(_idle(self.spans, position)),
            offsets=_count(self.spans.values()),
            known=sum(_count(self.census[key].missing) - _count(gaps) for key, gaps in self.missing.items()),
            unchecked=self.cut_off + sum(census.unlisted for census in self.census.values()),
            faults={RawFaultKind.REPEATED: repetitions} if repetitions else {},
            examples=first(repeated),
        )


@dataclass(frozen=True)
class _Comparison:
    """What is asked of Kafka, and what the answers mean.

    Attributes:
        topic: its name.
        seed: chooses what is sampled.
        held: what Kafka holds.
        counted: what the raw table alone tells.
        floor: below which the table lacks records that its retention has removed; None: it lacks none.
    """

    topic: str
    seed: str
    held: HeldOffsets
    counted: _Counted
    floor: RawFloor | None = None

    def run(self, raw: RawRecords, kafka: KafkaRecords) -> RawParity:
        """Ask, and judge the answers."""
        spans, missing = self.counted.spans, self.counted.missing
        doubtful = {key: tuple(_within(gaps, self._held(key))) for key, gaps in missing.items()}
        looked_up = {key: tuple(self._looked_up(key, gaps)) for key, gaps in doubtful.items()}
        sampled = {key: tuple(self._sampled(key)) for key in spans}
        sample = RecordPositions.joined(_pieces(sampled))
        asked = RecordPositions.joined([*_pieces(looked_up), *_pieces(sampled)])
        topic_id = self.held.topic_id
        ours = raw.records(sample) if sample.count else {}
        theirs = {
            (topic_id, partition, offset): record
            for partition, offset, record in (kafka.records(asked.ranges[topic_id]) if asked.count else ())
        }
        faults = list(self._faults(ours, theirs))
        lost = sum(fault.kind is RawFaultKind.LOST for fault in faults)
        removed = sum(at not in ours and self._is_below_floor(record) for at, record in theirs.items())
        gone = self._unheld(missing) - self._unheld(self.counted.unread)
        beside = self.floor is not None and self.counted.first is not None and self.counted.first < self.floor.at
        checked = sum(_count(_within(gaps, asked.ranges[key[0]][key[1]])) for key, gaps in doubtful.items() if gaps)
        return RawParity(
            no_records=checked - lost - removed,
            removed=removed + (gone if beside else 0),
            gone=0 if beside else gone,
            unchecked=sum(map(_count, doubtful.values())) - checked,
            unheld=self._unheld({key: (span,) for key, span in spans.items()}) - self._unheld(self.counted.unread),
            compared=len(ours.keys() & theirs.keys()),
            faults={kind: n for kind in RawFaultKind if (n := sum(fault.kind is kind for fault in faults))},
            examples=first(faults),
        )

    def _unheld(self, ranges: Mapping[PartitionKey, Sequence[OffsetRange]]) -> int:
        """Return how many offsets of some ranges Kafka does not hold any more."""
        return sum(_count(own) - _count(_within(own, self._held(key))) for key, own in ranges.items())

    def _held(self, key: PartitionKey) -> Sequence[OffsetRange]:
        """Return what Kafka holds of a partition; nothing of another topic of the same name."""
        topic, partition = key
        here = topic == self.held.topic_id and partition in self.held.ranges
        return [self.held.ranges[partition]] if here else []

    def _random(self, key: PartitionKey) -> Random:
        return Random(f"{self.seed}/{key[0]}/{key[1]}")  # noqa: S311 - no secret, but the same one each time

    def _looked_up(self, key: PartitionKey, gaps: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
        """Yield the gaps that Kafka is asked about: a bounded number, of long ones their ends."""
        if len(gaps) > MAX_LOOKED_UP:
            between = self._random(key).sample(range(1, len(gaps) - 1), MAX_LOOKED_UP - 2)
            gaps = [gaps[number] for number in sorted([0, *between, len(gaps) - 1])]
        for begin, last in gaps:
            if last - begin < 2 * _END_OF_GAP:
                yield begin, last
            else:
                yield begin, begin + _END_OF_GAP - 1
                yield last - _END_OF_GAP + 1, last

    def _sampled(self, key: PartitionKey) -> Iterator[OffsetRange]:
        """Yield the offsets whose records are compared: at both ends of what Kafka holds, and in between."""
        for begin, last in _within([self.counted.spans[key]], self._held(key)):
            length = last - begin + 1
            if length <= STRETCH * (STRETCHES + 2):
                yield begin, last
                continue
            random = self._random(key)
            starts = [
                begin + random.randrange(number * length // STRETCHES, (number + 1) * length // STRETCHES)
                for number in range(STRETCHES)
            ]
            for start in [begin, *starts, last - STRETCH + 1]:
                yield start, min(start + STRETCH - 1, last)

    def _faults(
        self,
        ours: Mapping[TopicPosition, StoredRecord],
        theirs: Mapping[TopicPosition, StoredRecord],
    ) -> Iterator[RawFault]:
        missing = RecordPositions.joined(_pieces(self.counted.missing))
        for at, record in theirs.items():
            if (own := ours.get(at)) is not None:
                if parts := own.differing(record):
                    yield self._fault(at, RawFaultKind.ALTERED, parts)
            elif at in missing and not self._is_below_floor(record):
                yield self._fault(at, RawFaultKind.LOST)
        for at in ours.keys() - theirs.keys():
            yield self._fault(at, RawFaultKind.FOREIGN)

    def _is_below_floor(self, record: StoredRecord) -> bool:
        """Whether retention may have removed it: nothing younger goes, whatever its value says."""
        stamp = record.timestamp
        return self.floor is not None and stamp is not None and stamp < self.floor.at.timestamp() * 1000

    def _fault(self, at: TopicPosition, kind: RawFaultKind, parts: tuple[str, ...] = ()) -> RawFault:
        topic, partition, offset = at
        return RawFault(topic, f"{self.topic}/{partition}", offset, kind, parts)


def _around(times: Iterable[Interval]) -> Iterator[Interval]:
    return (Interval(each.start - _DAY, each.end + _DAY) for each in times)


def _widened(key: PartitionKey, span: OffsetRange, position: RawPosition, topic: str) -> OffsetRange:
    """Return a range and its neighbours; of a topic that was created again since, nobody knows where it ended."""
    topic_id, partition = key
    end = position.reach.offsets.get(f"{topic}/{partition}", 0)
    begin, last = span
    if topic_id not in position.reach.topics[-1:]:
        return span
    first = min(begin, position.begun.get(f"{topic}/{partition}", 0))
    return max(first, begin - _NEIGHBOURS), max(last, min(last + _NEIGHBOURS, end - 1))


def _idle(spans: Iterable[PartitionKey], position: RawPosition) -> list[str]:
    """Return the partitions of the newest topic that have records, and none in the ranges."""
    ours = {partition for topic, partition in spans if topic in position.reach.topics[-1:]}
    ends = position.reach.offsets.items()
    return [name for name, end in ends if end and int(name.rpartition("/")[2]) not in ours]


def _of_hole(hole: Hole) -> PartitionRange:
    return hole.topic, int(hole.partition.rpartition("/")[2]), (hole.first, hole.end - 1)


def _own(positions: RecordPositions, key: PartitionKey) -> Sequence[OffsetRange]:
    return positions.ranges.get(key[0], {}).get(key[1], ())


def _pieces(ranges: Mapping[PartitionKey, Iterable[OffsetRange]]) -> Iterator[PartitionRange]:
    return ((topic, partition, each) for (topic, partition), own in ranges.items() for each in own)


def _length(span: OffsetRange) -> int:
    return span[1] - span[0] + 1


def _count(ranges: Iterable[OffsetRange]) -> int:
    return sum(map(_length, ranges))


def _within(ranges: Iterable[OffsetRange], others: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield what lies in both; each side in order, and apart from each other."""
    start = 0
    for begin, last in ranges:
        while start < len(others) and others[start][1] < begin:
            start += 1
        at = start
        while at < len(others) and others[at][0] <= last:
            yield max(begin, others[at][0]), min(last, others[at][1])
            at += 1


def _without(ranges: Iterable[OffsetRange], others: Sequence[OffsetRange]) -> Iterator[OffsetRange]:
    """Yield what lies in the first and not in the others; each side in order, and apart from each other."""
    for begin, last in ranges:
        for taken_from, taken_to in _within([(begin, last)], others):
            if begin < taken_from:
                yield begin, taken_from - 1
            begin = taken_to + 1  # noqa: PLW2901 - what is left of it
        if begin <= last:
            yield begin, last
