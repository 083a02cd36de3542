"""Axes of time, in UTC: ticks at round seconds, minutes, hours, days, months and years."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sluice.console.charts.axis import Tick, place_between

_MOST_TICKS = 5
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14)),
)
"""Seconds between ticks, up to where months begin."""
_MONTHS = (1, 2, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)))
_WEEK = 7 * _DAY
_FIRST_MONDAY = 4 * _DAY
"""The first day of the epoch was a Thursday."""
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_YEAR_MONTHS = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = (datetime(1, 1, 2, tzinfo=UTC) - _EPOCH).total_seconds()
LATEST = (datetime(9999, 12, 30, tzinfo=UTC) - _EPOCH).total_seconds()
"""Seconds since the epoch: times that have a date whatever is rounded."""


@dataclass(frozen=True)
class TimeAxis:
    """An axis of time.

    Attributes:
        first: where it begins, in seconds since the epoch.
        last: where it ends, later than `first`.
        ticks: from left to right.
        caption: the days that it is about.
    """

    first: float
    last: float
    ticks: Sequence[Tick]
    caption: str

    def place(self, moment: float) -> float:
        """Return how far along the axis a moment is, in percent; one beyond it is at its end."""
        return place_between(moment, self.first, self.last)


def time_axis(first: float, last: float) -> TimeAxis:
    """Return the axis from one moment to another, in seconds since the epoch; around a single moment, a minute."""
    first, last = (min(max(each, EARLIEST), LATEST) for each in (first, last))
    if last - first < 1:
        first, last = first - _MINUTE / 2, first + _MINUTE / 2
    ticks = [Tick(place_between(at, first, last), text) for at, text in _ticks(first, last) if first <= at <= last]
    begin, end = (f"{_time(each):%Y-%m-%d}" for each in (first, last))
    return TimeAxis(first, last, ticks, f"{begin}, UTC" if begin == end else f"{begin} to {end}, UTC")


def moment_text(moment: float) -> str:
    """Return a moment in full, without what is zero at its end: a day, a minute or a second."""
    at = _time(round(moment, 3))
    if at.second or at.microsecond:
        return f"{at:%Y-%m-%d %H:%M:%S}" + (f".{at.microsecond // 1000:03d}" if at.microsecond else "")
    return f"{at:%Y-%m-%d %H:%M}"


def seconds_of(at: datetime) -> float:
    """Return a moment in seconds since the epoch."""
    return (at - _EPOCH).total_seconds()


def _time(moment: float) -> datetime:
    return _EPOCH + timedelta(seconds=moment)


def _ticks(first: float, last: float) -> Iterator[tuple[float, str]]:
    span = last - first
    step = next((step for step in _STEPS if span <= _MOST_TICKS * step), None)
    if step is None:
        yield from _months(first, last)
        return
    origin = _FIRST_MONDAY if step >= _WEEK else 0
    for number in range(int((first - origin) // step), int((last - origin) // step) + 2):
        at = float(origin + number * step)
        if EARLIEST <= at <= LATEST:
            yield at, _text(_time(at), step)


def _text(at: datetime, step: int) -> str:
    if step >= _DAY or (at.hour, at.minute, at.second) == (0, 0, 0):
        return f"{_NAMES[at.month - 1]} {at.day}"
    return f"{at:%H:%M}" if step >= _MINUTE else f"{at:%H:%M:%S}"


def _months(first: float, last: float) -> Iterator[tuple[float, str]]:
    begin, end = (at.year * _YEAR_MONTHS + at.month - 1 for at in map(_time, (first, last)))
    step = next(step for step in _MONTHS if end - begin <= _MOST_TICKS * step)
    for number in range(begin - begin % step, end + 1, step):
        year, month = divmod(number, _YEAR_MONTHS)
        if year >= 1:
            text = f"{_NAMES[month]} {year}" if step % _YEAR_MONTHS else str(year)
            yield seconds_of(datetime(year, month + 1, 1, tzinfo=UTC)), text
