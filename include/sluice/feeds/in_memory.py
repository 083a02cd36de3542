"""A source whose records are held in memory: the lines of a file, or what a simulator made.

What was sent is recognised by its bytes: no two records are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime

from sluice.feeds.lines import Line
from sluice.feeds.record import FeedRecord
from sluice.topics.json_object import read_object


class InMemorySource:
    """Records as lines. A record is identified by the number of its line and belongs to the UTC day of its event."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = sorted(lines, key=lambda line: (line.arrival, line.number))
        self._by_number = {line.number: line for line in lines}
        self._numbers = {line.value: line.number for line in lines}
        self._days = dict(sorted(Counter(line.event.date() for line in lines).items()))

    def days(self) -> Mapping[date, int]:
        """Return the number of lines of every UTC day."""
        return self._days

    def records(self, first: date, last: date) -> Iterator[FeedRecord]:
        """Yield the lines of UTC days `first` to `last` (inclusive) as they became known."""
        return (_record(line) for line in self._lines if first <= line.event.date() <= last)

    def identify(self, value: bytes) -> int | None:
        """Return the number of the line that has these bytes."""
        return self._numbers.get(value)

    def find(self, identities: Collection[int]) -> Iterator[FeedRecord]:
        """Yield the lines with these numbers."""
        return (_record(self._by_number[number]) for number in identities if number in self._by_number)

    def last_event(self, first: date, last: date) -> datetime | None:
        """Return the latest event time in the range (UTC)."""
        return max((line.event for line in self._lines if first <= line.event.date() <= last), default=None)


def _record(line: Line) -> FeedRecord:
    return FeedRecord(
        line.number, line.key, read_object(line.value) or {}, line.event, line.arrival, line.event.date(), line.value
    )
