"""What publishing needs of a topic. `sluice.kafka` has the real ones, `tests/twins/feed_topic.py` their twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from sluice.topics.administration import TopicExtent
from sluice.topics.records import Record, RecordPosition


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
        """Send a record; without `partition` its key decides.

        Raises:
            RecordTooLargeError: it is larger than the topic takes, and was not sent.
            UnreachableError: it could not even be queued.
        """
        ...


class TopicReader(Protocol):
    """Reads one topic. Both methods may raise UnreachableError."""

    def extent(self) -> TopicExtent:
        """Return what the topic holds, asked at one time.

        Raises:
            RefusedError: the topic does not exist.
        """
        ...

    def read(self, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        """Yield the records in [start, end) of each partition, ordered by offset within a partition."""
        ...
