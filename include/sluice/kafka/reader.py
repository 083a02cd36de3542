"""Reading a range of offsets of one topic, without a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from sluice.errors import UnreachableError
from sluice.feeds.ports import Position, StoredRecord
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.connection import client_arguments, reachable

_POLL_MS = 500
_SILENT_POLLS = 60


class KafkaPythonReader:
    """One topic, seen through an administration that stays the caller's."""

    def __init__(self, administration: KafkaPythonAdministration, topic: str) -> None:
        self._administration = administration
        self._topic = topic

    def topic_id(self) -> str:
        """Return the cluster's UUID of the topic.

        Raises:
            RefusedError: the topic does not exist.
        """
        return self._administration.extent(self._topic).topic_id

    def beginnings(self) -> Mapping[int, int]:
        """Return the first offset of each partition."""
        return self._administration.beginnings(self._topic)

    def ends(self) -> Mapping[int, int]:
        """Return the offset after the last record of each partition."""
        return self._administration.ends(self._topic)

    def read(self, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[StoredRecord]:
        """Yield the records in [start, end) of each partition, ordered by offset within a partition.

        Raises:
            UnreachableError: the broker did not answer, or stopped sending before `end`.
        """
        waiting = {p: end[p] for p in end if start.get(p, 0) < end[p]}
        if not waiting:
            return
        try:
            consumer = KafkaConsumer(
                bootstrap_servers=reachable(self._administration.bootstrap),
                enable_auto_commit=False,
                auto_offset_reset="none",
                metrics_enabled=False,
                **client_arguments(self._administration.client),
            )
            try:
                yield from self._read(consumer, start, waiting)
            finally:
                consumer.close()
        except KafkaError as error:
            raise UnreachableError(
                f"{self._topic} could not be read ({error}).", fix="run the command again."
            ) from error

    def _read(self, consumer: Any, start: Mapping[int, int], waiting: dict[int, int]) -> Iterator[StoredRecord]:  # noqa: ANN401  untyped client
        partitions = {p: TopicPartition(self._topic, p) for p in waiting}
        consumer.assign(list(partitions.values()))
        for partition, at in partitions.items():
            consumer.seek(at, start.get(partition, 0))
        silent = 0
        while waiting:
            batches = consumer.poll(timeout_ms=_POLL_MS)
            silent = 0 if batches else silent + 1
            if silent > _SILENT_POLLS:
                raise UnreachableError(
                    f"{self._topic} sent nothing for {silent * _POLL_MS // 1000} s before offsets {waiting}.",
                    fix="see whether the brokers run, then run the command again.",
                )
            for records in batches.values():
                for record in records:
                    if record.offset < waiting.get(record.partition, 0):
                        yield StoredRecord(Position(record.partition, record.offset), record.value)
            for partition in [p for p, last in waiting.items() if consumer.position(partitions[p]) >= last]:
                del waiting[partition]
                consumer.pause(partitions[partition])
