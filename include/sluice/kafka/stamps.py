"""Timestamps of single records, read without a consumer group."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from sluice.errors import UnreachableError
from sluice.kafka.client.login import refuse_login
from sluice.kafka.consumer import open_consumer
from sluice.topics.administration import RecordStamp
from sluice.topics.json_object import read_broker_time

_POLL_MS = 200
_LOG_APPEND_TIME = 1


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
    """
    if not offsets:
        return {}
    try:
        # Kafka sends at least one batch of records, whatever its size.
        consumer = open_consumer(bootstrap, client, max_partition_fetch_bytes=1)
        try:
            return _first_stamps(consumer, topic, offsets, time.monotonic() + deadline_seconds)
        finally:
            consumer.close()
    except KafkaError as error:
        refuse_login(bootstrap, client)
        raise UnreachableError(f"{topic} could not be read ({error}).", fix="see whether the brokers run.") from error


def _first_stamps(consumer: Any, topic: str, offsets: Mapping[int, int], deadline: float) -> Mapping[int, RecordStamp]:  # noqa: ANN401  untyped client
    partitions = {partition: TopicPartition(topic, partition) for partition in offsets}
    consumer.assign(list(partitions.values()))
    for partition, at in partitions.items():
        consumer.seek(at, offsets[partition])
    found: dict[int, RecordStamp | None] = {}
    while len(found) < len(partitions) and time.monotonic() < deadline:
        for at, records in consumer.poll(timeout_ms=_POLL_MS, max_records=len(partitions)).items():
            if records and at.partition not in found:
                found[at.partition] = _stamp(records[0])
                consumer.pause(at)
    return {partition: stamp for partition, stamp in found.items() if stamp is not None}


def _stamp(record: Any) -> RecordStamp | None:  # noqa: ANN401  untyped client
    at = read_broker_time(record.timestamp)
    return None if at is None else RecordStamp(at, appended=record.timestamp_type == _LOG_APPEND_TIME)
