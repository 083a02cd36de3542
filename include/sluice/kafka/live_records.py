"""A topic output as a source of newest values: all its records from the beginning, or the newest of a long topic.

Repetitions after a crash are dropped, as every consumer of such a topic does; see `sluice.kafka.deduplication`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka import TopicPartition

from sluice.errors import UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.connection import reachable
from sluice.kafka.consumer import open_consumer, reading
from sluice.kafka.deduplication import deduplicated
from sluice.live.source import Row, SourceRead
from sluice.topics.deduplication import Deduplication
from sluice.topics.json_object import read_broker_time, read_object

MAX_RECORDS = 200_000
"""That are read to begin with, from all partitions together: newer ones first decide what a key's value is."""
_SILENCE_SECONDS = 10.0
_METADATA_MS = 15_000


class KafkaLiveRecords:
    """Implements `sluice.live.source.LiveSource`.

    Raises:
        UnreachableError: no broker answers.
        RefusedError: there is no such topic.
        SluiceError: a record cannot be read; see `sluice.kafka.consumer.reading`.
    """

    def __init__(self, bootstrap: Sequence[str], client: Mapping[str, str], topic: str) -> None:
        self._topic, self._bootstrap, self._client = topic, bootstrap, client
        with KafkaPythonAdministration(bootstrap, client, patience_seconds=5) as cluster:
            extent = cluster.extent(topic)
        each = MAX_RECORDS // max(1, len(extent.ends))
        starts = {p: max(extent.beginnings[p], end - each) for p, end in extent.ends.items()}
        self._partial = any(start > extent.beginnings[p] for p, start in starts.items())
        self._partitions = {p: TopicPartition(topic, p) for p in extent.ends}
        self._behind = {p: end for p, end in extent.ends.items() if end > extent.beginnings[p]}
        self._seen = Deduplication()
        self._heard = time.monotonic()
        with reading(topic, bootstrap, client):
            # What was deleted meanwhile is passed over.
            self._consumer = open_consumer(bootstrap, client, fetch_max_wait_ms=200, metadata_max_age_ms=_METADATA_MS)
            self._consumer.assign(list(self._partitions.values()))
            for p, start in starts.items():
                self._consumer.seek(self._partitions[p], start)

    def read(self, seconds: float) -> SourceRead:
        """See the port."""
        with reading(self._topic, self._bootstrap, self._client):
            polled = self._consumer.poll(timeout_ms=int(seconds * 1000))
            if len(self._consumer.partitions_for_topic(self._topic) or self._partitions) != len(self._partitions):
                raise UnreachableError(f"The topic {self._topic} has got other partitions; it is read again.")
            for p in [p for p, end in self._behind.items() if self._consumer.position(self._partitions[p]) >= end]:
                del self._behind[p]
            if polled:
                self._heard = time.monotonic()
            elif time.monotonic() - self._heard > _SILENCE_SECONDS:
                reachable(self._bootstrap)  # a consumer without a broker waits, and says nothing
                self._heard = time.monotonic()
        records = (record for part in polled.values() for record in part)  # a key is always in the same partition
        rows, unreadable = _rows(deduplicated(records, self._seen))
        return SourceRead(rows, unreadable=unreadable, caught_up=not self._behind, partial=self._partial)

    def close(self) -> None:
        """See the port."""
        self._consumer.close(timeout_ms=1_000)


def _rows(records: Iterable[Any]) -> tuple[list[Row], int]:
    rows, unreadable = [], 0
    for record in records:
        fields, at = read_object(record.value), read_broker_time(record.timestamp)
        if fields is None:
            unreadable += 1
        else:
            rows.append(Row(fields, at))
    return rows, unreadable
