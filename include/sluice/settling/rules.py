"""What a pipeline declares about the time that its records take, and which records its intervals are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from typing import Self

from sluice.intervals.alignment import Interval, contiguous, interval_of, ranges_of
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.model.sources import SourceSpec, TableSource

_UNBOUNDED = timedelta(days=36_500)
"""No advance is longer: how far a table is settled is no clock that could be wrong."""
_VERIFIED_BREADTH = 2
_SESSION_BREADTH = 4
"""How many times the lookback counts for an interval whose sessions are read again, twice as far each time."""


@dataclass(frozen=True)
class SettlingRules:
    """When an interval is complete, and what it is made of.

    Attributes:
        length: of an interval.
        allowed_lateness: a record is on time if no more than this lies between its event and its arrival.
        arrival_disorder: nothing is appended to the topic whose arrival time is further below the greatest before it.
        future_skew: a record counts if its event is no further ahead of its arrival.
        max_advance: the longest gap between two arrival times that needs no other evidence.
        lookback: how far before an interval the records begin that its rows are made of.
        lookahead: how far behind its end they go on.
        per_interval: whether one call of the transform is given the records of one interval, never of several.
        idle: a source that is silent for so long does not hold its intervals: time goes on by our own clock; None: it
            holds them until something arrives.
        sessions: whether rows say since when they are: what they are made of is read further back, until it suffices.
    """

    length: timedelta
    allowed_lateness: timedelta
    arrival_disorder: timedelta = timedelta()
    future_skew: timedelta = timedelta()
    max_advance: timedelta = timedelta(days=1)
    lookback: timedelta = timedelta()
    lookahead: timedelta = timedelta()
    per_interval: bool = False
    idle: timedelta | None = None
    sessions: bool = False

    @classmethod
    def of(cls, pipeline: PipelineSpec, topic: str | None = None) -> Self:
        """Return the rules that a pipeline's spec amounts to.

        Args:
            pipeline: the spec.
            topic: one that it reads, or a table as `table_input` calls it; None: of all of them together, as far as an
                interval may be made of any of their records, and not when it is complete.
        """
        each = [
            cls._of_source(pipeline.declared_intervals, source)
            for source in pipeline.every_source.values()
            if topic in (None, source.reads)
        ]
        return reduce(cls._or_wider, each)

    @classmethod
    def by_topic(cls, pipeline: PipelineSpec) -> dict[str, Self]:
        """Return the rules of each topic that a pipeline reads, and of each table."""
        return {name: cls.of(pipeline, name) for name in pipeline.reads}

    @classmethod
    def _of_source(cls, output: IntervalsOutput, source: SourceSpec | TableSource) -> Self:
        bare = cls(
            length=output.interval_length,
            allowed_lateness=timedelta(),
            max_advance=_UNBOUNDED,
            lookback=output.lookback if source.lookback is None else source.lookback,
            lookahead=output.lookahead if source.lookahead is None else source.lookahead,
            per_interval=output.called_per_interval,
            sessions=output.since_column is not None,
        )
        if isinstance(source, TableSource):  # it is complete when the other pipeline has settled it: nothing is late
            return bare
        return replace(
            bare,
            allowed_lateness=source.time.allowed_lateness,
            arrival_disorder=source.time.arrival_disorder,
            future_skew=source.time.future_skew,
            max_advance=source.time.max_advance,
            idle=source.time.idle,
        )

    def _or_wider(self, other: Self) -> Self:
        return replace(
            self,
            allowed_lateness=max(self.allowed_lateness, other.allowed_lateness),
            arrival_disorder=max(self.arrival_disorder, other.arrival_disorder),
            future_skew=max(self.future_skew, other.future_skew),
            max_advance=min(self.max_advance, other.max_advance),
            idle=None if self.idle is None or other.idle is None else max(self.idle, other.idle),
            lookback=max(self.lookback, other.lookback),
            lookahead=max(self.lookahead, other.lookahead),
        )

    @property
    def margin(self) -> timedelta:
        """How far the arrival clock must have passed the end of an interval that is complete."""
        return self.lookahead + self.allowed_lateness + self.arrival_disorder

    def complete_until(self, clock: datetime) -> datetime:
        """Return the end of the last interval that is complete when the arrival clock stands here."""
        return interval_of(clock - self.margin, self.length).start

    def begin(self, settled_until: datetime | None, first_event: datetime | None) -> datetime | None:
        """Return the start of the first interval that is not settled; None: no record tells where the table begins."""
        if settled_until is not None or first_event is None:
            return settled_until
        return next(self.touched(first_event)).start

    def first_whole(self, floor: datetime) -> datetime:
        """Return the start of the first interval that is made of no records from before a time."""
        earliest = floor + (_SESSION_BREADTH if self.sessions else 1) * self.lookback
        held = interval_of(earliest, self.length)
        return held.start if held.start == earliest else held.end

    @property
    def reach_back(self) -> timedelta:
        """How far before an interval records are needed for it: `verify` reads twice as far as declared."""
        return (_SESSION_BREADTH if self.sessions else _VERIFIED_BREADTH) * self.lookback

    def read_range(self, intervals: Interval, breadth: int = 1) -> Interval:
        """Return from when to when the records are that the rows of some intervals are made of.

        Args:
            intervals: from the start of the first to the end of the last.
            breadth: how many times as far beyond them as declared.
        """
        return Interval(intervals.start - breadth * self.lookback, intervals.end + breadth * self.lookahead)

    def read_ranges(self, starts: Iterable[datetime], breadth: int = 1) -> list[Interval]:
        """Return from when to when the records are that the rows of the intervals with these starts are made of."""
        return contiguous(self.read_range(each, breadth) for each in ranges_of(starts, self.length))

    def widened(self, breadth: int) -> Self:
        """Return the rules by which records are read a number of times as far beyond an interval."""
        return replace(self, lookback=breadth * self.lookback, lookahead=breadth * self.lookahead)

    def touched(self, event: datetime) -> Iterator[Interval]:
        """Yield the intervals whose rows a record of this event time may change, in order."""
        return self._from(event - self.lookahead, lambda start: start <= event + self.lookback)

    def touched_by_any_of(self, times: Interval) -> Iterator[Interval]:
        """Yield the intervals whose rows a record may change whose event time lies in a range, in order."""
        return self._from(times.start - self.lookahead, lambda start: start < times.end + self.lookback)

    def may_hold(self, first: datetime, last: datetime) -> Interval:
        """Return the intervals whose rows records on time may change that nobody has seen.

        Args:
            first: an arrival time before theirs, as far as arrival times are in order.
            last: one behind theirs.
        """
        earliest = min(first, last) - self.arrival_disorder - self.allowed_lateness - self.lookahead
        latest = max(first, last) + self.arrival_disorder + self.future_skew + self.lookback
        return Interval(interval_of(earliest, self.length).start, interval_of(latest, self.length).end)

    def _from(self, instant: datetime, goes_on: Callable[[datetime], bool]) -> Iterator[Interval]:
        interval = interval_of(instant, self.length)
        while goes_on(interval.start):
            yield interval
            interval = interval_of(interval.end, self.length)
