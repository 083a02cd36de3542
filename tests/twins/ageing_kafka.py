"""A cluster in memory that deletes what is too old, as a broker does: whole segments, oldest first, now and then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sluice.clock import Clock
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration


class AgeingKafka(InMemoryKafkaAdministration):
    """`segment` records are one segment; the broker checks every `check_seconds`, whenever somebody asks after that."""

    def __init__(self, clock: Clock, *, segment: int = 1, check_seconds: float = 300) -> None:
        super().__init__()
        self.clock = clock
        self.segment = segment
        self.check_seconds = check_seconds
        self.next_check = clock.monotonic() + check_seconds
        self.trimmed: dict[str, dict[int, int]] = {}
        self.set: list[str] = []

    def fill(self, topic: str, partitions: Sequence[Sequence[datetime]], **configs: str) -> None:
        """Make a topic with these records."""
        self.create([TopicCreation(topic, len(partitions), 1, {"retention.ms": "-1", **configs})])
        for partition, stamps in enumerate(partitions):
            self.append(topic, partition, stamps)

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        super().set_configs(topic, configs)
        self.set += [f"{name}={value}" for name, value in configs.items()]

    def beginnings(self, topic: str) -> Mapping[int, int]:
        if self.clock.monotonic() >= self.next_check:
            self.next_check = self.clock.monotonic() + self.check_seconds
            for name in self.topics:
                self._age(name)
        return {partition: self.trimmed.get(topic, {}).get(partition, 0) for partition in self.ends(topic)}

    def offsets_at(self, topic: str, at: datetime) -> Mapping[int, int]:
        firsts = self.beginnings(topic)
        known = self.records.get(topic, {})
        return {
            p: next((o for o in range(firsts[p], end) if (p, o) in known and known[p, o].at >= at), end)
            for p, end in self.ends(topic).items()
        }

    def _age(self, topic: str) -> None:
        retention = int(self.topics[topic].configs.get("retention.ms", "-1"))
        if retention < 0:
            return
        oldest = self.clock.now() - timedelta(milliseconds=retention)
        for partition, end in self.ends(topic).items():
            first = self.trimmed.get(topic, {}).get(partition, 0)
            while first < end:
                last = min(end, (first // self.segment + 1) * self.segment)
                if any(self.records[topic][partition, offset].at >= oldest for offset in range(first, last)):
                    break
                first = last
            self.trimmed.setdefault(topic, {})[partition] = first
