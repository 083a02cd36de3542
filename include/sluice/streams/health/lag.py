"""Whether a stream falls behind, and when one that catches up will be there.

What is judged is *how old* the first unread record is at each commit, not how many records wait: traffic that triples
triples the records, but makes the stream older only if it cannot follow. The test is sequential (Page's CUSUM): it adds
up what the stream grows older beyond a tolerance, and begins again whenever the stream rests with nothing left to read.
A burst ages a stream faster than any leak, but not for long, so growth counts once it has lasted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from sluice.streams.health.window import Point

TOLERATED = 0.005
"""Seconds of age per second that are no leak. Half of the smallest leak to be found would find it fastest; a little
less loses nothing here, as a healthy stream rests."""
MIN_SPAN_SECONDS = 20 * 60.0
MIN_GROWTH_SECONDS = 5.0
MIN_POINTS = 6
_RECENT_SHARE = 0.4
_MIN_RECENT = 3


@dataclass(frozen=True)
class LagGrowth:
    """A stream that falls behind.

    Attributes:
        since: when that began (seconds since the epoch).
        seconds: how much older its first unread record is now.
        rate: seconds per second.
    """

    since: float
    seconds: float
    rate: float


def growth(course: Sequence[Point]) -> LagGrowth | None:
    """Return how the stream falls behind by its course since it last rested, or None if that is not proven."""
    if len(course) < MIN_POINTS:
        return None
    start = min(course, key=lambda point: point.behind - TOLERATED * point.at)
    rising = [point for point in course if point.at >= start.at]
    span = rising[-1].at - start.at
    if len(rising) < MIN_POINTS or span < MIN_SPAN_SECONDS:
        return None
    # The least of the last part: between two bursts a stream comes back to where it was, a leak does not.
    grown = min(point.behind for point in recent(rising)) - start.behind
    if grown < max(MIN_GROWTH_SECONDS, TOLERATED * span) or slope(recent(rising)) <= 0:
        return None
    return LagGrowth(start.at, grown, grown / span)


def recent(points: Sequence[Point]) -> Sequence[Point]:
    """Return the points of the last part of the time that they span."""
    since = points[-1].at - _RECENT_SHARE * (points[-1].at - points[0].at)
    return [point for point in points if point.at >= since]


def slope(points: Sequence[Point]) -> float:
    """Return by how many seconds per second the age grows (least squares); 0 for fewer than two moments."""
    at, behind = fmean(p.at for p in points), fmean(p.behind for p in points)
    spread = sum((p.at - at) ** 2 for p in points)
    return sum((p.at - at) * (p.behind - behind) for p in points) / spread if spread else 0.0


def shrinks(course: Sequence[Point]) -> bool:
    """Whether the stream clearly comes nearer."""
    return _pace(course) > TOLERATED


def seconds_to_catch_up(course: Sequence[Point]) -> float | None:
    """Return in how many seconds a stream that comes nearer will be there, at this pace; None if it does not."""
    pace = _pace(course)
    return course[-1].behind / pace if pace > TOLERATED else None


def _pace(course: Sequence[Point]) -> float:
    """Return by how many seconds per second the age has shrunk of late."""
    if len(course) < _MIN_RECENT:
        return 0.0
    last = recent(course)
    return -slope(last if len(last) >= _MIN_RECENT else course[-_MIN_RECENT:])
