"""Keys of a topic's newest records, read without a consumer group."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from sluice.errors import UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.consumer import open_consumer
from sluice.provisioning.growth.keys import KeySample

_POLL_MS = 200


class KafkaPythonKeyReader:
    """Implements `sluice.provisioning.growth.keys.KeyReader` through an administration that stays the caller's.

    Attributes:
        deadline_seconds: what has not come by then is left out: a smaller sample is a sample too.
    """

    def __init__(self, administration: KafkaPythonAdministration, *, deadline_seconds: float = 15) -> None:
        self._administration = administration
        self.deadline_seconds = deadline_seconds

    def newest_keys(self, topic: str, most: int) -> KeySample:
        """Return the keys of the newest records, at most so many of each partition, and what each partition holds."""
        extent = self._administration.extent(topic)
        held = {p: end - extent.beginnings[p] for p, end in sorted(extent.ends.items())}
        ranges = {p: (extent.ends[p] - min(most, count), extent.ends[p]) for p, count in held.items() if count}
        return KeySample(self._read(topic, ranges), held)

    def _read(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Mapping[int, list[bytes | None]]:
        if not ranges:
            return {}
        try:
            # What was deleted meanwhile is passed over.
            consumer = open_consumer(self._administration.bootstrap, self._administration.client)
            try:
                return _keys(consumer, topic, ranges, time.monotonic() + self.deadline_seconds)
            finally:
                consumer.close()
        except KafkaError as error:
            raise UnreachableError(
                f"The newest records of {topic} could not be read ({error}).", fix="see whether the brokers run."
            ) from error


def _keys(
    consumer: Any,  # noqa: ANN401  untyped client
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    deadline: float,
) -> Mapping[int, list[bytes | None]]:
    partitions = {p: TopicPartition(topic, p) for p in ranges}
    consumer.assign(list(partitions.values()))
    for partition, (first, _) in ranges.items():
        consumer.seek(partitions[partition], first)
    found: dict[int, list[bytes | None]] = {}
    left = dict(partitions)
    while left and time.monotonic() < deadline:
        for at, records in consumer.poll(timeout_ms=_POLL_MS).items():
            end = ranges[at.partition][1]
            found.setdefault(at.partition, []).extend(record.key for record in records if record.offset < end)
        for partition in [p for p, at in left.items() if consumer.position(at) >= ranges[p][1]]:
            consumer.pause(left.pop(partition))
    return found
