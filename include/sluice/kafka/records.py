"""Records of topics, and timestamps of single ones, without a consumer group."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka import TopicPartition

from sluice.errors import SluiceError, UnreachableError
from sluice.kafka.client.session import ClusterClient
from sluice.kafka.consumer import open_consumer, reading
from sluice.topics.administration import RecordStamp
from sluice.topics.json_object import read_broker_time
from sluice.topics.records import Record

_POLL_MS = 500
_STAMP_POLL_MS = 200
_LOG_APPEND_TIME = 1


class KafkaPythonRecords(ClusterClient):
    """Reads records of one cluster."""

    def read(self, topic: str, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        """Yield the records in [start, end) of each partition, ordered by offset within a partition.

        Raises:
            UnreachableError: the broker did not answer, stopped sending before `end`, or no longer has `start`.
            SluiceError: a record cannot be read; see `sluice.kafka.consumer.reading`.
        """
        waiting = {p: end[p] for p in end if start.get(p, 0) < end[p]}
        if not waiting:
            return
        try:
            with reading(topic, self.bootstrap, self.client):
                self._connected = self._connected or open_consumer(self.bootstrap, self.client, beyond="none")
                yield from self._read(self._connected, topic, start, waiting)
        except SluiceError:
            self.close()
            raise

    def _read(self, consumer: Any, topic: str, start: Mapping[int, int], waiting: dict[int, int]) -> Iterator[Record]:  # noqa: ANN401  untyped client
        partitions = {p: TopicPartition(topic, p) for p in waiting}
        consumer.assign(list(partitions.values()))
        for partition, at in partitions.items():
            consumer.resume(at)  # an earlier reading may have ended in it
            consumer.seek(at, start.get(partition, 0))
        silent = 0
        while waiting:
            batches = consumer.poll(timeout_ms=_POLL_MS)
            silent = 0 if batches else silent + 1
            if silent * _POLL_MS > self.patience_seconds * 1000:
                raise UnreachableError(
                    f"{topic} sent nothing for {silent * _POLL_MS // 1000} s before offsets {waiting}.",
                    fix="see whether the brokers run, then run the command again.",
                )
            for records in batches.values():
                for record in records:
                    if record.offset < waiting.get(record.partition, 0):
                        yield _record(record)
            for partition in [p for p, last in waiting.items() if consumer.position(partitions[p]) >= last]:
                del waiting[partition]
                consumer.pause(partitions[partition])


def _record(message: Any) -> Record:  # noqa: ANN401  untyped client
    return Record(
        message.partition,
        message.offset,
        read_broker_time(message.timestamp),
        message.timestamp_type == _LOG_APPEND_TIME,
        message.key,
        message.value,
        tuple(message.headers or ()),
    )


def read_stamps(
    bootstrap: Sequence[str],
    client: Mapping[str, str],
    topic: str,
    offsets: Mapping[int, int],
    *,
    deadline_seconds: float,
) -> Mapping[int, RecordStamp]:
    """Return the timestamp of the first record at or after an offset, per partition.

    A partition that sends no record before the deadline is left out, and so is one that has deleted that record, or
    whose record bears no time.

    Raises:
        UnreachableError: no broker answered.
        SluiceError: a record cannot be read; see `sluice.kafka.consumer.reading`.
    """
    if not offsets:
        return {}
    with reading(topic, bootstrap, client):
        # Kafka sends at least one batch of records, whatever its size.
        consumer = open_consumer(bootstrap, client, max_partition_fetch_bytes=1)
        try:
            return _first_stamps(consumer, topic, offsets, time.monotonic() + deadline_seconds)
        finally:
            consumer.close()


def _first_stamps(consumer: Any, topic: str, offsets: Mapping[int, int], deadline: float) -> Mapping[int, RecordStamp]:  # noqa: ANN401  untyped client
    partitions = {partition: TopicPartition(topic, partition) for partition in offsets}
    consumer.assign(list(partitions.values()))
    for partition, at in partitions.items():
        consumer.seek(at, offsets[partition])
    stamps: dict[int, RecordStamp | None] = {}
    while len(stamps) < len(partitions) and time.monotonic() < deadline:
        for at, records in consumer.poll(timeout_ms=_STAMP_POLL_MS, max_records=len(partitions)).items():
            if records and at.partition not in stamps:
                stamps[at.partition] = _stamp(records[0])
                consumer.pause(at)
    return {partition: stamp for partition, stamp in stamps.items() if stamp is not None}


def _stamp(record: Any) -> RecordStamp | None:  # noqa: ANN401  untyped client
    at = read_broker_time(record.timestamp)
    return None if at is None else RecordStamp(at, appended=record.timestamp_type == _LOG_APPEND_TIME)
