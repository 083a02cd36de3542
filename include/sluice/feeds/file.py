"""The source `file`: the lines of a file of one's own, sent as they are, in the order in which they became known.

A record's identity is the number of its line, so lines may be added at the end of a file, but not changed or moved once
they were sent. What was sent is recognised by its bytes: no line may be there twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

from sluice.feeds.lines import Fields, Line, lines_of, read_lines
from sluice.feeds.record import FeedRecord
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import TopicValue
from sluice.specs.reading.faults import SpecFaults
from sluice.topics.json_object import read_object


class FileSource:
    """The lines of a file as a feed source. A record belongs to the UTC day of its event time."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = sorted(lines, key=lambda line: (line.arrival, line.number))
        self._by_number = {line.number: line for line in lines}
        self._numbers = {line.value: line.number for line in lines}
        self._days = dict(sorted(Counter(line.event.date() for line in lines).items()))

    @classmethod
    def load(cls, path: Path, feed: FeedSpec, value: TopicValue) -> FileSource:
        """Read a file as its feed and the value of its topic describe it.

        Raises:
            SpecFaults: with all lines that are no records.
            SpecError: it cannot be read.
        """
        lines, faults = read_lines(lines_of(path), feed.path or path.name, Fields.of(feed, value))
        if faults:
            raise SpecFaults(faults)
        return cls(lines)

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
