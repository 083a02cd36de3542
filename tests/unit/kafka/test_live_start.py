"""Where the records of a live output are read from, and whether that is their beginning."""

from __future__ import annotations

from typing import Any, Self

import pytest
from kafka import TopicPartition

from sluice.kafka import live_records as module
from sluice.kafka.live_records import KafkaLiveRecords
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import InMemoryRecords


class NoRecords:
    """A consumer that says where it was put, and reads nothing."""

    def __init__(self) -> None:
        self.positions: dict[int, int] = {}

    def assign(self, partitions: list[TopicPartition]) -> None:
        assert partitions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition.partition] = offset

    def position(self, partition: TopicPartition) -> int:
        return self.positions[partition.partition]

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        assert timeout_ms >= 0
        return {}

    def partitions_for_topic(self, _topic: str) -> set[int]:
        return set(self.positions)


class Administration(InMemoryKafkaAdministration):
    """It can be closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is no connection."""


@pytest.mark.parametrize(
    ("trimmed", "starts", "partial"), [(0, {0: 1, 1: 0}, True), (1, {0: 1, 1: 0}, False), (2, {0: 2, 1: 0}, False)]
)
def test_a_topic_that_is_not_read_from_its_first_record_is_read_in_part(
    monkeypatch: pytest.MonkeyPatch, trimmed: int, starts: dict[int, int], *, partial: bool
) -> None:
    cluster, consumer = Administration(), NoRecords()
    cluster.create([TopicCreation("live", 2, 1)])
    sent = InMemoryRecords(cluster)
    for _ in range(3):
        sent.append("live", 0, b"{}")
    cluster.trim("live", 0, trimmed)
    monkeypatch.setattr(module, "KafkaPythonAdministration", lambda *_, **__: cluster)
    monkeypatch.setattr(module, "open_consumer", lambda *_, **__: consumer)
    monkeypatch.setattr(module, "MAX_RECORDS", 4)
    source = KafkaLiveRecords(["broker:9092"], {}, "live")
    assert consumer.positions == starts
    assert source.read(0).partial is partial
