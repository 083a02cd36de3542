"""What the records say that were read since the last examination: how far the source has come, and which were early.

This is the meaning; an adapter that reads columns gives the same answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan, joined
from sluice.intervals.entries import LossyRange
from sluice.settling.rules import SettlingRules


@dataclass(frozen=True)
class RecordTimes:
    """One record as an examination sees it.

    Attributes:
        partition: `topic/partition`.
        offset: in it.
        event: when it happened (UTC); None unless the pipeline takes it into its rows.
        arrival: when it became known; None if it does not decode, or lies ahead of the broker's time.
        earlier: it is of a topic that was deleted since and created again, which is stored as far as it ever will be.
    """

    partition: str
    offset: int
    event: datetime | None
    arrival: datetime | None
    earlier: bool = False


@dataclass(frozen=True)
class Examination:
    """What was found in the records between two offsets of each partition.

    Attributes:
        end: next offsets of what was read.
        spans: their arrival times, per partition.
        overtaken: by the start of an interval that was settled without them: the next offset per partition behind the
            records on time that it lacks, in the newest topic; 0 if they are all of an earlier one.
        first_event: the earliest event time of a record on time; None without one.
        disorder: the farthest that an arrival time lay below the greatest before it in its partition, up to the longest
            advance: what lies further ahead may be a record of the future, and measures nothing.
        lossy: intervals that may lack records of the holes between what was judged before and `end`.
    """

    end: Mapping[str, int]
    spans: Mapping[str, tuple[ArrivalSpan, ...]] = field(default_factory=dict)
    overtaken: Mapping[datetime, Mapping[str, int]] = field(default_factory=dict)
    first_event: datetime | None = None
    disorder: timedelta = timedelta()
    lossy: tuple[LossyRange, ...] = ()

    def disorder_after(self, clocks: ArrivalClocks, drained: AbstractSet[str], max_advance: timedelta) -> timedelta:
        """Return the farthest that an arrival time lies below one that was appended before it.

        Args:
            clocks: of what was read before.
            drained: partitions that were read to their ends then: what is found in them was appended after all of that,
                in whichever partition it lies. Of another one only its own records are known to be older.
            max_advance: what lies further below is another advance, and no disorder.
        """
        below = (
            before - span.first
            for partition, spans in self.spans.items()
            for span in spans
            if (before := clocks.newest if partition in drained else clocks.accepted.get(partition)) is not None
        )
        return max([timedelta(), *(length for length in below if length <= max_advance)])


def examined(
    records: Iterable[RecordTimes], end: Mapping[str, int], rules: SettlingRules, settled_until: datetime | None
) -> Examination:
    """Judge records by a pipeline's rules.

    Args:
        records: each partition's in the order of their offsets.
        end: next offsets behind them.
        rules: the pipeline's.
        settled_until: intervals that end by then are settled; None: none is.
    """
    arrivals: dict[str, list[ArrivalSpan]] = defaultdict(list)
    appended: dict[tuple[str, bool], list[datetime]] = defaultdict(list)  # a topic that was created again begins again
    overtaken: dict[datetime, dict[str, int]] = defaultdict(dict)
    first: datetime | None = None
    for record in records:
        if record.arrival is None:
            continue
        arrivals[record.partition].append(ArrivalSpan(record.arrival, record.arrival))
        appended[record.partition, record.earlier].append(record.arrival)
        if record.event is None or record.arrival - record.event > rules.allowed_lateness:
            continue
        first = record.event if first is None else min(first, record.event)
        for interval in rules.touched(record.event):
            if settled_until is not None and interval.end <= settled_until:
                overtaken[interval.start][record.partition] = 0 if record.earlier else record.offset + 1
    spans = {partition: joined(own, rules.max_advance) for partition, own in arrivals.items()}
    disorder = max(
        (_disorder(own, spans[partition], rules.max_advance) for (partition, _), own in appended.items()),
        default=timedelta(),
    )
    return Examination(end, spans, overtaken, first, disorder)


def _disorder(arrivals: Iterable[datetime], spans: Iterable[ArrivalSpan], most: timedelta) -> timedelta:
    """Return the farthest that an arrival time of one partition lies below the greatest before it in its span.

    Args:
        arrivals: in the order in which they were appended.
        spans: of the partition.
        most: what lies further below is another advance.
    """
    farthest, newest = timedelta(), dict.fromkeys(spans, datetime.min.replace(tzinfo=UTC))
    for arrival in arrivals:
        span = next(span for span in newest if span.first <= arrival <= span.last)
        newest[span] = max(newest[span], arrival)
        if (below := newest[span] - arrival) <= most:
            farthest = max(farthest, below)
    return farthest
