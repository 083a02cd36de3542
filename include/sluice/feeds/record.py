"""What a feed is made of: records in the order in which they became known, and sources that make them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

JsonValue = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class FeedRecord:
    """One record.

    Attributes:
        identity: its number in the source: stable over date ranges, and a field of the value.
        key: what decides its partition.
        value: the fields of the topic's value; an absent one is left out.
        event: when it happened (UTC).
        arrival: when it became known (UTC).
        day: the local calendar day that it belongs to.
    """

    identity: int
    key: bytes
    value: Mapping[str, JsonValue]
    event: datetime
    arrival: datetime
    day: date


class FeedSource(Protocol):
    """A reproducible source: the same range always gives the same records in the same order."""

    identity_field: str
    """The field of a value that holds the record's identity."""

    def days(self) -> Mapping[date, int]:
        """Return every local day that the source has, in order, with its number of records."""
        ...

    def records(self, first: date, last: date) -> Iterator[FeedRecord]:
        """Yield the records of local days `first` to `last` (inclusive), ordered by arrival, then identity."""
        ...

    def find(self, identities: Collection[int]) -> Iterator[FeedRecord]:
        """Yield the records with these identities, in any order; unknown ones are left out."""
        ...

    def last_event(self, first: date, last: date) -> datetime | None:
        """Return the latest event time in the range, or None if it holds no record."""
        ...


def encode(value: Mapping[str, JsonValue]) -> bytes:
    """Return the bytes of a value: the same value always gives the same bytes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def format_instant(instant: datetime) -> str:
    """Return a UTC instant as the topic's values write it, such as `2013-01-01T10:15:00Z`."""
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
