"""What a feed is made of: records in the order in which they became known, and sources that make them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

from sluice.topics.json_object import encode as encode  # noqa: PLC0414 - exported
from sluice.topics.json_object import read_object

JsonValue = str | int | float | bool | None
_LONG = 2**63


@dataclass(frozen=True, slots=True)
class FeedRecord:
    """One record.

    Attributes:
        identity: its number in the source: stable over date ranges.
        key: what decides its partition; None: anything.
        value: the fields of the topic's value; an absent one is left out. Of a line of text there are none.
        event: when it happened (UTC).
        arrival: when it became known (UTC).
        day: the local calendar day that it belongs to.
        written: the bytes of its value, where a source has them; None: those of `encode`.
    """

    identity: int
    key: bytes | None
    value: Mapping[str, Any]
    event: datetime
    arrival: datetime
    day: date
    written: bytes | None = None

    @property
    def payload(self) -> bytes:
        """The bytes that are sent: always the same."""
        return encode(self.value) if self.written is None else self.written


class FeedSource(Protocol):
    """A reproducible source: the same range always gives the same records in the same order."""

    def days(self) -> Mapping[date, int]:
        """Return every local day that the source has, in order, with its number of records."""
        ...

    def records(self, first: date, last: date) -> Iterator[FeedRecord]:
        """Yield the records of local days `first` to `last` (inclusive), ordered by arrival, then identity."""
        ...

    def identify(self, value: bytes) -> int | None:
        """Return the identity that a value in the topic shows; None if it is certainly not of this source."""
        ...

    def find(self, identities: Collection[int]) -> Iterator[FeedRecord]:
        """Yield the records with these identities, in any order; unknown ones are left out."""
        ...

    def last_event(self, first: date, last: date) -> datetime | None:
        """Return the latest event time in the range, or None if it holds no record."""
        ...


def integer_field(value: bytes, field: str) -> int | None:
    """Return a whole number of at most 64 bits in a JSON object; None if there is none."""
    number = (read_object(value) or {}).get(field)
    return number if isinstance(number, int) and not isinstance(number, bool) and -_LONG <= number < _LONG else None


def format_instant(instant: datetime) -> str:
    """Return a UTC instant as the topic's values write it, such as `2013-01-01T10:15:00Z`."""
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
