"""The records of an in-memory cluster's topics. It passes the suite of the real adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from sluice.errors import UnreachableError
from sluice.topics.records import Record
from tests.twins.kafka_administration import InMemoryKafkaAdministration

NOON = datetime(2013, 1, 7, 12, tzinfo=UTC)


class InMemoryRecords:
    """`checked`: how many offsets were read, to see how far somebody has gone."""

    def __init__(self, cluster: InMemoryKafkaAdministration) -> None:
        self.cluster = cluster
        self.held: dict[str, dict[tuple[int, int], Record]] = {}
        self.checked = 0

    def append(
        self,
        topic: str,
        partition: int,
        value: bytes | None = b"{}",
        *,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes], ...] = (),
        at: datetime = NOON,
    ) -> None:
        offset = self.cluster.offsets[topic][partition]
        self.cluster.append(topic, partition, [at])
        stamp = self.cluster.records[topic][partition, offset]
        record = Record(partition, offset, stamp.at, stamp.appended, key, value, headers)
        self.held.setdefault(topic, {})[partition, offset] = record

    def skip(self, topic: str, partition: int, offsets: int = 1) -> None:
        """Let offsets pass that hold no record, as a transaction's marks and compaction do."""
        self.cluster.offsets[topic][partition] += offsets

    def read(self, topic: str, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        if all(last <= start.get(partition, 0) for partition, last in end.items()):
            return
        if not self.cluster.reachable:
            raise UnreachableError("No Kafka broker could be reached.", fix="start the stack.")
        first, held = self.cluster.beginnings(topic), self.held.get(topic, {})
        for partition, last in end.items():
            if start.get(partition, 0) < min(first[partition], last):
                raise UnreachableError(f"{topic} could not be read (OffsetOutOfRangeError).")
            for offset in range(start.get(partition, 0), last):
                self.checked += 1
                if (partition, offset) in held:
                    yield held[partition, offset]
