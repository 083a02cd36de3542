"""The interval ledger: who wrote each interval, from what, with which code, and in which state it is.

It is a fold over the entries in a table's commits, so every reader of the log (or of its copy) arrives at the same
ledger. Nothing else is truth: the control database only indexes the result.

Intervals are settled, or published by backfills. What persons have withdrawn is open again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from sluice.intervals.alignment import Interval
from sluice.intervals.continuation import with_inherited
from sluice.intervals.entries import (
    NO_ROWS,
    BackfillEntry,
    Logged,
    LossyRange,
    SettleEntry,
    VerifiedEntry,
    WithdrawnEntry,
)
from sluice.intervals.facts import NOTHING, Facts, correcting, writing
from sluice.intervals.raw_floor import WholeFrom
from sluice.intervals.reach import UNREACHABLE, Reach
from sluice.intervals.rows import REOPENED, LedgerRow, Rows, State, Verified, Written
from sluice.intervals.spans import Spans

__all__ = ["Ledger", "LedgerRow", "State", "Verified", "Written", "fold"]


@dataclass(frozen=True)
class Ledger:
    """The intervals of one output table.

    Attributes:
        rows: by start; open intervals have none, unless they are dirty.
        closed_until: end of the last closed interval; None before the first.
        version: the newest table version that was checked.
        ahead: starts of the dirty `spans` of which the raw table holds nothing yet that they lack, or not all any more
            that they are made of: no recompute makes them good now. No part of the truth about the intervals: the
            index does not keep it.
        whole: from which interval on records can be read again; None: nothing was ever removed. The same.
    """

    rows: Mapping[datetime, LedgerRow] = field(default_factory=dict)
    closed_until: datetime | None = None
    version: int = -1
    ahead: frozenset[datetime] = field(default=frozenset(), compare=False)
    whole: WholeFrom | None = field(default=None, compare=False)

    @property
    def spans(self) -> tuple[LedgerRow, ...]:
        """The rows in order; intervals without rows that are alike and side by side are one."""
        return self.rows.spans if isinstance(self.rows, Rows) else tuple(row for _, row in sorted(self.rows.items()))

    @property
    def first(self) -> datetime | None:
        """The start of the first interval of which anything is known."""
        return next((row.interval.start for row in self.spans), None)

    def closes(self, row: LedgerRow) -> bool:
        """Whether the settler has closed an interval and will not write it again."""
        return row.current is not None or (self.closed_until is not None and row.interval.end <= self.closed_until)

    def is_whole(self, start: datetime) -> bool:
        """Whether all records can still be read that the interval which begins then is made of."""
        return self.whole is None or start >= self.whole.start

    def between(self, since: datetime | None, until: datetime | None) -> Iterator[LedgerRow]:
        """Yield the `spans` of the intervals that lie in `[since, until)`, in order."""
        return (row for span in self.spans if (row := span.within(since, until)) is not None)

    def count(self, code: str) -> dict[State, int]:
        """Return how many intervals are in each state."""
        counts: Counter[State] = Counter()
        for row in self.spans:
            counts[row.state(code)] += row.count
        return {state: counts[state] for state in State}


def fold(
    commits: Iterable[Logged], length: timedelta, raw: Reach | None = None, whole: WholeFrom | None = None
) -> Ledger:
    """Return the ledger that these commits amount to.

    Args:
        commits: the entries of one table, oldest first.
        length: of an interval.
        raw: how far the raw table goes: what dirty intervals lack behind it cannot be repaired yet, see `Ledger.ahead`.
            None: the raw table holds everything.
        whole: from which interval on records can be read again; None: nothing was removed.
    """
    folding = _Folding(length, raw, whole)
    for commit in commits:
        folding.add(commit)
    return folding.result()


class _Folding:
    def __init__(self, length: timedelta, raw: Reach | None, whole: WholeFrom | None) -> None:
        self._length = length
        self._raw = raw
        self._whole = whole
        self._facts: Spans[Facts] = Spans()
        self._lossy_from_the_first: list[LossyRange] = []
        self._closed_until: datetime | None = None
        self._examined: Reach | None = None  # by the newest settlement
        self._version = -1

    def add(self, commit: Logged) -> None:
        self._version = commit.version
        match commit.entry:
            case SettleEntry() as entry:
                self._settle(commit, entry)
            case BackfillEntry() as entry:
                self._backfill(commit, entry)
            case VerifiedEntry() as entry:
                self._verify(commit, entry)
            case WithdrawnEntry() as entry:
                self._withdraw(entry)

    def result(self) -> Ledger:
        if self._whole is not None:
            self._facts.cut(self._whole.start)
        spans: list[tuple[datetime, datetime, Facts]] = []
        for start, end, found in self._facts:
            facts = self._as_examined(end, found)
            if facts.current is None and not facts.dirt:
                continue
            if (
                spans
                and spans[-1][1] == start
                and spans[-1][2] == facts
                and self._is_cut(spans[-1][0]) == self._is_cut(start)
                and not (facts.is_alone or spans[-1][2].is_alone)
            ):
                spans[-1] = (spans[-1][0], end, facts)
            else:
                spans.append((start, end, facts))
        ahead = frozenset(
            start
            for start, _, facts in spans
            if facts.dirt and (self._is_cut(start) or all(self._is_beyond_raw(reach) for _, reach in facts.dirt))
        )
        rows, ahead = with_inherited((self._row(*span) for span in spans), ahead)
        return Ledger(Rows(rows), self._closed_until, self._version, ahead, self._whole)

    def _as_examined(self, end: datetime, facts: Facts) -> Facts:
        """Return the facts of an interval that a withdrawal has opened again as lacking what was examined since.

        What was published of it stays. No examination says which of its records came since, so it counts as lacking
        some until it has read as far.
        """
        examined, base = self._examined, facts.base
        is_closed = self._closed_until is not None and end <= self._closed_until
        if is_closed or examined is None or base is None or facts.stays or base.reach.covers(examined):
            return facts
        return facts.marked(REOPENED, examined)

    def _row(self, start: datetime, end: datetime, facts: Facts) -> LedgerRow:
        why = tuple(dict.fromkeys(why for why, _ in facts.dirt))
        count = (end - start) // self._length
        return LedgerRow(Interval(start, end), facts.base, facts.current, why, facts.verified, count)

    def _is_cut(self, start: datetime) -> bool:
        return self._whole is not None and start < self._whole.start

    def _is_beyond_raw(self, reach: Reach) -> bool:
        return self._raw is not None and not self._raw.covers(reach)

    def _mark(self, start: datetime, end: datetime, why: str, reach: Reach) -> None:
        self._facts.change(start, end, lambda facts: (facts or NOTHING).marked(why, reach))

    def _backfill(self, commit: Logged, entry: BackfillEntry) -> None:
        reach = Reach(entry.raw, entry.topics)
        for start, content in entry.content.items():
            written = Written(
                owner=entry.backfill,
                generation=None,
                version=commit.version,
                at=commit.at,
                offsets=entry.raw,
                code=entry.code,
                content=content,
                late=entry.late.get(start, False),
                topics=reach.topics,
                replayed=entry.replayed,
                static=entry.static,
                carried=entry.carried.get(start),
            )
            to = correcting(written) if entry.mode == "correct" else writing(written, reach)
            self._facts.change(start, start + self._length, to)

    def _settle(self, commit: Logged, entry: SettleEntry) -> None:
        reach = self._examined = entry.reach
        self._lossy_from_the_first += [lossy for lossy in entry.lossy if lossy.since is None]
        if entry.since is not None and entry.settled_until is not None and entry.since < entry.settled_until:
            self._replace(entry.since, entry.settled_until, commit, entry, reach)
        for start, offsets in entry.overtaken.items():
            self._overtake(start, reach.at(offsets), entry)
        for lossy in entry.lossy:
            if lossy.since is not None:
                self._mark(lossy.since, lossy.until, lossy.why, UNREACHABLE)

    def _replace(self, since: datetime, until: datetime, commit: Logged, entry: SettleEntry, reach: Reach) -> None:
        """Give the intervals of `[since, until)` to a settler: nothing of what was there before is left."""
        alone = entry.content.keys() | entry.carried.keys()
        cuts = {since, until, *alone, *(start + self._length for start in alone)}
        for start, end in pairwise(sorted(cuts)):
            written = Written(
                owner=entry.writer,
                generation=entry.generation,
                version=commit.version,
                at=commit.at,
                offsets=reach.offsets,
                code=entry.code,
                content=entry.content.get(start, NO_ROWS),
                topics=reach.topics,
                static=entry.static,
                carried=entry.carried.get(start),
            )
            self._facts.change(start, end, writing(written, reach))
        for lossy in self._lossy_from_the_first:
            if since < lossy.until:
                self._mark(since, min(until, lossy.until), lossy.why, UNREACHABLE)
        self._closed_until = until

    def _overtake(self, start: datetime, reach: Reach, entry: SettleEntry) -> None:
        base = (self._facts.at(start) or NOTHING).base
        if base is None or not base.reach.covers(reach):
            why = f"records on time came after generation {entry.generation} of {entry.writer} had settled it"
            self._mark(start, start + self._length, why, reach)

    def _verify(self, commit: Logged, entry: VerifiedEntry) -> None:
        verified = Verified(entry.backfill, entry.code, commit.at)

        def noted(facts: Facts | None) -> Facts:
            compared = facts is not None and facts.base is not None and facts.base.version <= entry.as_of
            return replace(facts or NOTHING, verified=verified) if compared else facts or NOTHING

        for start in entry.intervals:
            self._facts.change(start, start + self._length, noted)

    def _withdraw(self, entry: WithdrawnEntry) -> None:
        """Open what was closed from then on. What holds rows, or is published, stays, and is repaired."""
        if self._closed_until is None or entry.since >= self._closed_until:
            return

        def opened(facts: Facts | None) -> Facts:
            facts = facts or NOTHING
            if not facts.settled:
                return facts
            if not facts.holds_rows:
                return Facts(dirt=facts.dirt)
            return replace(facts, stays=True).marked(f"its rows lie beyond what was withdrawn: {entry.why}", Reach({}))

        self._facts.change(entry.since, self._closed_until, opened)
        self._closed_until = entry.since
