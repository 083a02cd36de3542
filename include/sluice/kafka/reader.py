"""One topic as a feed reads it, without a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.records import KafkaPythonRecords
from sluice.topics.administration import TopicExtent
from sluice.topics.records import Record


class KafkaPythonReader:
    """One topic, seen through an administration that stays the caller's."""

    def __init__(self, administration: KafkaPythonAdministration, topic: str) -> None:
        self._administration = administration
        self._topic = topic

    def extent(self) -> TopicExtent:
        """Return what the topic holds, asked at one time."""
        return self._administration.extent(self._topic)

    def read(self, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        """Yield the records in [start, end) of each partition, ordered by offset within a partition."""
        cluster = self._administration
        with KafkaPythonRecords(cluster.bootstrap, cluster.client, patience_seconds=30) as records:
            yield from records.read(self._topic, start, end)
