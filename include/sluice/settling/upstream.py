"""A settled table as the source of another pipeline: what its ledger says between two of its versions.

A round of the other pipeline sees it like a topic of one partition, whose offsets count versions. How far the table is
settled is its arrival time, and an interval that holds something else than before is a record that came too late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from sluice.intervals.alignment import Interval
from sluice.intervals.arrivals import ArrivalSpan
from sluice.intervals.entries import BackfillEntry, Content, Logged, SettleEntry
from sluice.intervals.ledger import Ledger
from sluice.intervals.rows import LedgerRow
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules


def examined_table(
    before: Ledger,
    after: Ledger,
    end: Mapping[str, int],
    rules: SettlingRules,
    settled_until: datetime | None,
    *,
    since: Iterable[Logged] = (),
) -> Examination:
    """Judge what happened to a table since it was examined last.

    An interval that was written again with the same rows changes nothing. One that was opened again and is settled
    again is compared with nothing, so whatever rests on it is marked; and so it is if an interval held other rows for a
    while, which a backfill may have read.

    Args:
        before: its ledger as it was examined.
        after: as it is now.
        end: the next version of its one partition.
        rules: of the pipeline that reads it, for this source.
        settled_until: the intervals of that pipeline that end by then are settled; None: none is.
        since: the entries of the table's log between the two.
    """
    (partition,) = end
    closed = after.closed_until
    spans = {} if closed is None else {partition: (ArrivalSpan(closed, closed, witnessed=True),)}
    overtaken: dict[datetime, int] = defaultdict(int)
    for row in changed(before, after, _held_between(since)) if settled_until is not None else ():
        version = 0 if row.current is None else row.current.version
        for own in rules.touched_by_any_of(row.interval):
            if settled_until is not None and own.end <= settled_until:
                overtaken[own.start] = max(overtaken[own.start], version + 1)
    first = next((row.interval.start for row in after.spans if row.current is not None), None)
    return Examination(end, spans, {start: {partition: next_} for start, next_ in overtaken.items()}, first)


def _held_between(since: Iterable[Logged]) -> dict[datetime, set[Content]]:
    held: dict[datetime, set[Content]] = defaultdict(set)
    for entry in (logged.entry for logged in since):
        if isinstance(entry, BackfillEntry | SettleEntry):
            for start, content in entry.content.items():
                held[start].add(content)
    return held


def changed(
    before: Ledger, after: Ledger, between: Mapping[datetime, set[Content]] = MappingProxyType({})
) -> Iterator[LedgerRow]:
    """Yield the intervals of a table that were written since an earlier ledger of it, and hold something else now.

    Args:
        before: the earlier ledger.
        after: the later one.
        between: what intervals held in between, if that counts as well.
    """
    for row in after.spans:
        if row.current is None or row.current.version <= before.version:
            continue
        for each in row.each():
            known = before.rows.get(each.interval.start)
            held = None if known is None or known.current is None else known.current.content
            if held is None or {held} != {row.current.content, *between.get(each.interval.start, ())}:
                yield each


def resting_on(own: Ledger, times: Interval, rules: SettlingRules) -> list[Interval]:
    """Return the settled intervals that are made of rows of a range of time, in order.

    Args:
        own: the ledger of the pipeline that reads the table.
        times: the range.
        rules: of that pipeline, for this source.
    """
    until = own.closed_until
    return [each for each in rules.touched_by_any_of(times) if until is not None and _is_known(own, each, until)]


def _is_known(own: Ledger, interval: Interval, until: datetime) -> bool:
    return interval.end <= until and own.first is not None and interval.start >= own.first


def resting_on_dirty(own: Ledger, upstream: Ledger, rules: SettlingRules) -> frozenset[datetime]:
    """Return the starts of the settled intervals that were made of rows which are known to be incomplete.

    It is said of them as long as it is so: nothing is written down, because nothing in their own table is wrong by the
    rows that were there, and a repair of the other table marks them if it changes something.

    Args:
        own: the ledger of the pipeline that reads the table.
        upstream: the table's.
        rules: of that pipeline, for this source.
    """
    return frozenset(each.start for row in upstream.spans if row.dirty for each in resting_on(own, row.interval, rules))
