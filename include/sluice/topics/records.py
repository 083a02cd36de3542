"""The port to the records of topics. The real adapter and its in-memory twin pass one suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sluice.errors import RefusedError


@dataclass(frozen=True, order=True, slots=True)
class RecordPosition:
    """Where a record is in its topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}/{self.offset}"


class RecordTooLargeError(RefusedError):
    """A record is larger than its topic, or the client, takes; it was not sent."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as the topic holds it.

    Attributes:
        at: its timestamp (UTC); None where it has none.
        appended: whether the broker set that; else it is the producer's opinion.
        key: None where it has none.
        value: None of a tombstone.
        headers: in their order; a name may occur more than once.
    """

    partition: int
    offset: int
    at: datetime | None
    appended: bool
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RecordReader(Protocol):
    """Reads without a consumer group: nothing is committed, and no consumer notices."""

    def read(self, topic: str, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[Record]:
        """Yield the records in [start, end) of each partition of `end`, ordered by offset within a partition.

        Offsets that hold no record (compacted, a mark of a transaction) are passed over.

        Raises:
            UnreachableError: the broker did not answer, stopped sending, or no longer has what is asked for.
            SluiceError: a record cannot be read, however often it is tried.
        """
        ...
