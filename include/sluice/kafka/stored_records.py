"""A topic as a raw table is compared with it: what it holds, and its committed records at many places."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafka import TopicPartition

from sluice.errors import UnreachableError
from sluice.intervals.backfill.conservation import HeldOffsets, StoredRecord
from sluice.intervals.record_positions import OffsetRange
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.consumer import open_consumer, reading

_POLL_MS = 200
_FETCH_BYTES = 65_536
"""Of a partition at once: what is read lies far apart."""
_NEAR = 200
"""So many records are read rather than jumped over: a jump asks the broker again."""


class KafkaPythonStoredRecords:
    """Implements `sluice.intervals.backfill.conservation.KafkaRecords`. A context manager; connects on first use."""

    def __init__(
        self, bootstrap: Sequence[str], client: Mapping[str, str], topic: str, *, patience_seconds: float
    ) -> None:
        self._administration = KafkaPythonAdministration(bootstrap, client, patience_seconds=patience_seconds)
        self._topic = topic
        self._consumer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._administration.close()
        if self._consumer is not None:
            self._consumer.close()

    def held(self) -> HeldOffsets:
        """See the port."""
        extent = self._administration.extent(self._topic)
        ranges = {p: (extent.beginnings[p], end - 1) for p, end in extent.ends.items() if end > extent.beginnings[p]}
        return HeldOffsets(extent.topic_id, ranges)

    def records(self, ranges: Mapping[int, Sequence[OffsetRange]]) -> Iterator[tuple[int, int, StoredRecord]]:
        """See the port; raises UnreachableError also if retention deletes a record that is about to be read."""
        cluster = self._administration
        with reading(self._topic, cluster.bootstrap, cluster.client):
            self._consumer = self._consumer or open_consumer(
                cluster.bootstrap,
                cluster.client,
                beyond="none",
                max_partition_fetch_bytes=_FETCH_BYTES,
                fetch_max_wait_ms=50,
            )
            yield from self._read({TopicPartition(self._topic, p): deque(own) for p, own in ranges.items() if own})

    def _read(self, waiting: dict[TopicPartition, deque[OffsetRange]]) -> Iterator[tuple[int, int, StoredRecord]]:
        consumer, silent_ms = self._consumer, 0
        consumer.assign(list(waiting))
        for at, own in waiting.items():
            consumer.resume(at)  # an earlier reading has ended in it
            consumer.seek(at, own[0][0])
        while waiting:
            batches = consumer.poll(timeout_ms=_POLL_MS)
            for at, messages in batches.items():
                yield from _inside(messages, waiting.get(at, deque()))
            moved = [at for at, own in waiting.items() if _passed(own, consumer.position(at))]
            silent_ms = 0 if batches or moved else silent_ms + _POLL_MS
            if silent_ms > self._administration.patience_seconds * 1000:
                raise UnreachableError(f"{self._topic} sent nothing for {silent_ms // 1000} s.", fix="run it again.")
            for at, own in list(waiting.items()):
                if not own:
                    del waiting[at]
                    consumer.pause(at)
                elif own[0][0] - consumer.position(at) > _NEAR:
                    consumer.seek(at, own[0][0])


def _inside(messages: Sequence[Any], ranges: deque[OffsetRange]) -> Iterator[tuple[int, int, StoredRecord]]:
    """Yield the records in some ranges, and forget those ranges that lie behind."""
    for message in messages:
        _passed(ranges, message.offset)
        if ranges and message.offset >= ranges[0][0]:
            yield message.partition, message.offset, _content(message)


def _passed(ranges: deque[OffsetRange], position: int) -> bool:
    """Forget the ranges before a position, and return whether there were any."""
    before = len(ranges)
    while ranges and ranges[0][1] < position:
        ranges.popleft()
    return len(ranges) < before


def _content(message: Any) -> StoredRecord:  # noqa: ANN401  untyped client
    sent = message.timestamp
    known = None if sent is None or sent < 0 else int(sent)
    return StoredRecord(message.key, message.value, tuple(message.headers or ()), known)
