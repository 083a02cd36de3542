"""Ranges of intervals that share a value: a hundred years of which the same is known are one entry.

The ranges are half-open, in order, and do not overlap. Their bounds lie where intervals begin.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Generic, TypeVar

T = TypeVar("T")


class Spans(Generic[T]):
    """Values by range. What was never set has none."""

    def __init__(self) -> None:
        self._starts: list[datetime] = []
        self._ends: list[datetime] = []
        self._values: list[T] = []

    def __iter__(self) -> Iterator[tuple[datetime, datetime, T]]:
        """Yield start, end and value of each range, in order."""
        return zip(self._starts, self._ends, self._values, strict=True)

    def at(self, moment: datetime) -> T | None:
        """Return the value at a moment; None where none was set."""
        place = bisect_right(self._starts, moment) - 1
        return self._values[place] if place >= 0 and moment < self._ends[place] else None

    def change(self, start: datetime, end: datetime, to: Callable[[T | None], T]) -> None:
        """Give each part of `[start, end)` the value that `to` makes of the one that it had.

        Args:
            start: first moment.
            end: the moment after the last.
            to: takes a value, or None where there was none.
        """
        if start >= end:
            return
        self.cut(start)
        self.cut(end)
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        starts, ends, values = [], [], []
        at = start
        for place in range(first, last):
            if at < self._starts[place]:
                starts.append(at)
                ends.append(self._starts[place])
                values.append(to(None))
            starts.append(self._starts[place])
            ends.append(self._ends[place])
            values.append(to(self._values[place]))
            at = self._ends[place]
        if at < end:
            starts.append(at)
            ends.append(end)
            values.append(to(None))
        self._starts[first:last], self._ends[first:last], self._values[first:last] = starts, ends, values

    def cut(self, at: datetime) -> None:
        """Make a range that goes over a moment two of the same value."""
        place = bisect_right(self._starts, at) - 1
        if place >= 0 and self._starts[place] < at < self._ends[place]:
            self._starts.insert(place + 1, at)
            self._ends.insert(place, at)
            self._values.insert(place, self._values[place])
