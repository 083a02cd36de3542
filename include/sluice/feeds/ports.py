"""What publishing needs of a topic. `sluice.kafka` has the real ones, `tests/twins/feed_topic.py` their twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from sluice.topics.records import RecordPosition


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as the topic holds it."""

    position: RecordPosition
    value: bytes | None


class Acknowledgement(Protocol):
    """The answer to one record that was sent, sooner or later."""

    def done(self) -> bool:
        """Tell whether the answer is here."""
        ...

    def wait(self) -> RecordPosition:
        """Block until the record is acknowledged; return where it is.

        Raises:
            UnreachableError: it was given up; whether the topic has the record is unknown.
        """
        ...


class Producer(Protocol):
    """Sends to one topic. Within a partition records keep their order, and none is doubled by a retry."""

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> Acknowledgement:
        """Send a record; without `partition` its key decides."""
        ...


class TopicReader(Protocol):
    """Reads one topic. Every method may raise UnreachableError."""

    def topic_id(self) -> str:
        """Return the cluster's UUID of the topic.

        Raises:
            RefusedError: the topic does not exist.
        """
        ...

    def beginnings(self) -> Mapping[int, int]:
        """Return the first offset of each partition."""
        ...

    def ends(self) -> Mapping[int, int]:
        """Return the offset after the last record of each partition that may be read."""
        ...

    def held(self) -> Mapping[int, int]:
        """Return how many offsets lie behind an open transaction, of partitions that have one: nobody may read them."""
        ...

    def read(self, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[StoredRecord]:
        """Yield the records in [start, end) of each partition, ordered by offset within a partition."""
        ...
