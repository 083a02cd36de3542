"""A raw table and its topic in memory, as they are compared. They pass the suites of the real adapters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sluice.errors import UnreachableError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.conservation import HeldOffsets, OffsetCensus, PartitionKey, StoredRecord
from sluice.intervals.record_positions import OffsetRange, RecordPositions, TopicPosition

MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
TOPIC, FORMER = "topic-2", "topic-1"


def content(offset: int) -> StoredRecord:
    return StoredRecord(b"k", b"%d" % offset, (("trace", b"\xff"),), 1_356_998_400_000 + offset)


@dataclass
class InMemoryRawTable:
    """Rows by position, each with its event time; a position may have several."""

    rows: dict[TopicPosition, list[StoredRecord]] = field(default_factory=dict)
    times: dict[TopicPosition, datetime] = field(default_factory=dict)

    def add(
        self,
        partition: int,
        offset: int,
        *,
        topic: str = TOPIC,
        at: datetime = MIDNIGHT,
        record: StoredRecord | None = None,
    ) -> None:
        place = (topic, partition, offset)
        self.rows.setdefault(place, []).append(record or content(offset))
        self.times[place] = at

    def spans(self, times: Sequence[Interval]) -> Mapping[PartitionKey, OffsetRange]:
        found: dict[PartitionKey, list[int]] = {}
        for topic, partition, offset in self.rows:
            at = self.times[topic, partition, offset]
            if any(each.start <= at < each.end for each in times):
                found.setdefault((topic, partition), []).append(offset)
        return {key: (min(offsets), max(offsets)) for key, offsets in found.items()}

    def census(self, spans: Mapping[PartitionKey, OffsetRange]) -> Mapping[PartitionKey, OffsetCensus]:
        return {key: self._census(key, span) for key, span in spans.items()}

    def _census(self, key: PartitionKey, span: OffsetRange) -> OffsetCensus:
        inside = range(span[0], span[1] + 1)
        missing = RecordPositions.of((*key, offset) for offset in inside if (*key, offset) not in self.rows)
        more = {offset: len(self.rows.get((*key, offset), ())) - 1 for offset in inside}
        repeated = tuple(offset for offset, times in more.items() if times > 0)
        gaps = tuple(span for _, _, span in missing.pieces())
        return OffsetCensus(gaps, 0, sum(more[offset] for offset in repeated), repeated)

    def begins_at(self, key: PartitionKey, offset: int) -> bool:
        return all((topic, partition) != key or at >= offset for topic, partition, at in self.rows)

    def records(self, positions: RecordPositions) -> Mapping[TopicPosition, StoredRecord]:
        return {at: rows[0] for at, rows in self.rows.items() if at in positions}


@dataclass
class InMemoryStoredTopic:
    """A topic's committed records. `asked`: how many offsets of each partition were asked for."""

    committed: dict[tuple[int, int], StoredRecord] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    topic: str = TOPIC
    asked: dict[int, int] = field(default_factory=dict)
    reachable: bool = True

    def add(self, partition: int, offset: int, *, record: bool = True) -> None:
        self.end[partition] = max(self.end.get(partition, 0), offset + 1)
        if record:
            self.committed[partition, offset] = content(offset)

    def held(self) -> HeldOffsets:
        if not self.reachable:
            raise UnreachableError("No Kafka broker could be reached.", fix="start the stack.")
        return HeldOffsets(
            self.topic,
            {p: (self.first.get(p, 0), end - 1) for p, end in self.end.items() if end > self.first.get(p, 0)},
        )

    def records(self, ranges: Mapping[int, Sequence[OffsetRange]]) -> Iterable[tuple[int, int, StoredRecord]]:
        for partition, own in ranges.items():
            for begin, last in own:
                if begin < self.first.get(partition, 0):
                    raise UnreachableError("the topic could not be read (OffsetOutOfRangeError).")
                self.asked[partition] = self.asked.get(partition, 0) + last - begin + 1
                for offset in range(begin, last + 1):
                    if (partition, offset) in self.committed:
                        yield partition, offset, self.committed[partition, offset]
