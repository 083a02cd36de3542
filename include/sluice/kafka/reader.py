"""One topic as a feed reads it, without a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.feeds.ports import StoredRecord
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.records import KafkaPythonRecords
from sluice.topics.records import RecordPosition


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

    def held(self) -> Mapping[int, int]:
        """Return how many offsets lie behind an open transaction, of partitions that have one."""
        return self._administration.extent(self._topic).held

    def read(self, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[StoredRecord]:
        """Yield the records in [start, end) of each partition, ordered by offset within a partition.

        Raises:
            UnreachableError: the broker did not answer, or stopped sending before `end`.
        """
        with KafkaPythonRecords(self._administration.bootstrap, self._administration.client) as records:
            for record in records.read(self._topic, start, end):
                yield StoredRecord(RecordPosition(record.partition, record.offset), record.value)
