"""Intervals of event time: half-open, aligned to the epoch in UTC, all of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, order=True)
class Interval:
    """`[start, end)` in UTC."""

    start: datetime
    end: datetime


def interval_of(instant: datetime, length: timedelta) -> Interval:
    """Return the interval of `length` that holds `instant`."""
    start = instant - (instant - _EPOCH) % length
    return Interval(start.astimezone(UTC), start.astimezone(UTC) + length)


def intervals_between(start: datetime, end: datetime, length: timedelta) -> Iterator[Interval]:
    """Yield the intervals that lie wholly in `[start, end)`, in order."""
    first = interval_of(start, length)
    at = first.start if first.start == start else first.end
    while at + length <= end:
        yield Interval(at, at + length)
        at += length


def ranges_of(starts: Iterable[datetime], length: timedelta) -> list[Interval]:
    """Return the intervals that begin at some instants, those side by side as one."""
    return contiguous(Interval(start, start + length) for start in starts)


def contiguous(intervals: Iterable[Interval]) -> list[Interval]:
    """Join intervals that touch into ranges, in order."""
    ranges: list[Interval] = []
    for interval in sorted(intervals):
        if ranges and interval.start <= ranges[-1].end:
            ranges[-1] = Interval(ranges[-1].start, max(ranges[-1].end, interval.end))
        else:
            ranges.append(interval)
    return ranges
