"""The interval ledger: who wrote each interval, from what, with which code, and in which state it is.

It is a fold over the entries in a table's commits, so every reader of the log (or of its copy) arrives at the same
ledger. Nothing else is truth: the control database only indexes the result.

Intervals are settled, or published by backfills. Former versions appended rows batch by batch and closed intervals by a
watermark; their entries are folded by the rules of then, so the ledgers of such tables stay readable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.continuation import with_inherited
from sluice.intervals.entries import (
    NO_ROWS,
    AttemptEntry,
    BackfillEntry,
    Content,
    DirtyEntry,
    Logged,
    LossyRange,
    SettleEntry,
    StreamEntry,
    VerifiedEntry,
    WithdrawnEntry,
)
from sluice.intervals.facts import NOTHING, Facts, correcting, writing
from sluice.intervals.raw_floor import WholeFrom
from sluice.intervals.reach import UNREACHABLE, Reach
from sluice.intervals.rows import LedgerRow, Rows, State, Verified, Written
from sluice.intervals.spans import Spans
from sluice.intervals.writers import topic_of

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
        """Whether the stream has closed an interval and will not write it again."""
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
        raw: how far the raw table goes: what a stream closed before the raw table holds everything behind it is not
            closed yet. None: the raw table holds everything.
        whole: from which interval on records can be read again; None: nothing was removed.
    """
    commits = list(commits)
    folding = _Folding(length, None if raw is None else _with_known(raw, commits), whole)
    for commit in commits:
        folding.add(commit)
    return folding.result()


def _with_known(raw: Reach, commits: Iterable[Logged]) -> Reach:
    """Add the topics that the log knows to be older than the raw table's newest, for a record that is lost."""
    writers = (commit.entry.writer for commit in commits if isinstance(commit.entry, _OfStream))
    return raw.preceded_by(list(dict.fromkeys(filter(None, map(topic_of, writers)))))


_OfStream = StreamEntry | AttemptEntry | DirtyEntry


class _Folding:
    def __init__(self, length: timedelta, raw: Reach | None, whole: WholeFrom | None) -> None:
        self._length = length
        self._raw = raw
        self._whole = whole
        self._facts: Spans[Facts] = Spans()
        self._topics: list[str] = []  # oldest first
        self._growing: dict[datetime, Content] = {}
        self._reached: dict[str, datetime] = {}  # the greatest watermark that each code evicted by
        self._upgrades: list[AttemptEntry] = []
        self._lossy_from_the_first: list[LossyRange] = []
        self._first: datetime | None = None
        self._closed_until: datetime | None = None  # as the stream says
        self._settled_until: datetime | None = None  # as far as the raw table agrees
        self._examined: Reach | None = None  # by the newest settlement
        self._raw_is_behind = False
        self._version = -1

    def add(self, commit: Logged) -> None:
        self._version = commit.version
        if isinstance(commit.entry, _OfStream):
            self._meet(topic_of(commit.entry.writer))
        match commit.entry:
            case StreamEntry() as entry:
                self._stream(commit, entry)
            case AttemptEntry() as entry:
                if entry.replaced is not None:
                    self._upgrades.append(entry)
            case DirtyEntry() as entry:
                self._drop(entry)
            case BackfillEntry() as entry:
                self._backfill(commit, entry)
            case VerifiedEntry() as entry:
                self._verify(commit, entry)
            case WithdrawnEntry() as entry:
                self._withdraw(entry)
            case SettleEntry() as entry:
                self._settle(commit, entry)

    def result(self) -> Ledger:
        if self._settled_until is not None:
            self._facts.cut(self._settled_until)
        if self._whole is not None:
            self._facts.cut(self._whole.start)
        spans: list[tuple[datetime, datetime, Facts]] = []
        for start, end, found in self._facts:
            facts = self._as_settled(end, found)
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
        return Ledger(Rows(rows), self._settled_until, self._version, ahead, self._whole)

    def _as_settled(self, end: datetime, facts: Facts) -> Facts:
        """Return facts without what the stream wrote of an interval that is not closed yet.

        What was published of one that a withdrawal has opened again stays. No examination says which of its records
        came since, so it counts as lacking some until it has read as far.
        """
        if self._settled_until is not None and end <= self._settled_until:
            return facts
        if facts.streamed and not facts.stays:
            return Facts(dirt=facts.dirt)
        examined, base = self._examined, facts.base
        if examined is None or base is None or facts.stays or base.reach.covers(examined):
            return facts
        return facts.marked("it is open again, and records came since it was published", examined)

    def _row(self, start: datetime, end: datetime, facts: Facts) -> LedgerRow:
        why = tuple(dict.fromkeys(why for why, _ in facts.dirt))
        count = (end - start) // self._length
        return LedgerRow(Interval(start, end), facts.base, facts.current, why, facts.verified, count)

    def _meet(self, topic: str) -> None:
        if topic and topic not in self._topics:
            self._topics.append(topic)

    def _reach_of(self, entry: StreamEntry | DirtyEntry) -> Reach:
        """Return how far the stream has come: it has read the topics before this one to their ends."""
        topic = topic_of(entry.writer)
        return Reach(entry.end, tuple(self._topics[: self._topics.index(topic) + 1]) if topic else ())

    def _stream(self, commit: Logged, entry: StreamEntry) -> None:
        for start, added in entry.content.items():
            self._grow(start, added, entry)
        if entry.watermark is not None:
            self._reached[entry.code] = max(entry.watermark, self._reached.get(entry.code, entry.watermark))
        # Intervals close in order: once a batch is ahead of the raw table, nothing closed after it counts either.
        reach = self._reach_of(entry)
        self._raw_is_behind |= self._is_beyond_raw(reach)
        if entry.closed_until is None or self._first is None or entry.closed_until <= self._first:
            return
        since = max(self._first, self._closed_until or self._first)
        self._close(since, entry.closed_until, commit, entry, reach)
        self._closed_until = max(entry.closed_until, self._closed_until or entry.closed_until)
        if not self._raw_is_behind:
            self._settled_until = self._closed_until

    def _is_cut(self, start: datetime) -> bool:
        return self._whole is not None and start < self._whole.start

    def _is_beyond_raw(self, reach: Reach) -> bool:
        return self._raw is not None and not self._raw.covers(reach)

    def _grow(self, start: datetime, added: Content, entry: StreamEntry) -> None:
        interval = interval_of(start, self._length)
        self._first = min(interval.start, self._first or interval.start)
        if self._closed_until is not None and interval.end <= self._closed_until:
            why = f"generation {entry.generation} of {entry.writer} wrote it after it was closed"
            self._mark(interval.start, interval.end, why, self._reach_of(entry))
            return
        held = self._growing.get(interval.start, NO_ROWS)
        total = Content(held.rows + added.rows, str(int(held.checksum) + int(added.checksum)))
        self._growing[interval.start] = total

    def _close(self, since: datetime, until: datetime, commit: Logged, entry: StreamEntry, reach: Reach) -> None:
        """Close the intervals of `[since, until)`: those with rows one by one, the others between them as ranges."""
        grown = sorted(start for start in self._growing if since <= start < until)
        cuts = {since, until, *grown, *(start + self._length for start in grown)}
        cuts.update(cut for cut in self._turns(entry) if since < cut < until)
        for start, end in pairwise(sorted(cuts)):
            written = Written(
                owner=entry.writer,
                generation=entry.generation,
                version=commit.version,
                at=commit.at,
                offsets=entry.end,
                codes=self._codes_behind(start, entry),
                content=self._growing.pop(start, NO_ROWS),
                watermark=entry.watermark,
                topics=reach.topics,
            )
            self._facts.change(start, end, writing(written))
            if entry.suspect_until is not None and start <= entry.suspect_until:
                why = f"the state of lineage {entry.lineage} began after records of this interval"
                self._mark(start, end, why, Reach(entry.origin, reach.topics))

    def _turns(self, entry: StreamEntry) -> Iterator[datetime]:
        """Yield the starts of the intervals from which on other codes are behind a range, or nothing is suspect."""
        until = [*(upgrade.mixed_until for upgrade in self._upgrades), entry.suspect_until]
        yield from (interval_of(moment, self._length).end for moment in until if moment is not None)
        for reached in self._reached.values():
            interval = interval_of(reached, self._length)
            yield interval.start if interval.start == reached else interval.end

    def _codes_behind(self, start: datetime, entry: StreamEntry) -> tuple[str, ...]:
        """Return the codes whose state or windows are in the interval that starts then, oldest first."""
        states = (u.replaced for u in self._upgrades if u.mixed_until and start <= u.mixed_until)
        windows = (code for code, reached in self._reached.items() if reached > start)
        return tuple(dict.fromkeys([*(code for code in states if code is not None), *windows, entry.code]))

    def _drop(self, entry: DirtyEntry) -> None:
        reach = self._reach_of(entry)
        for start in entry.intervals:
            base = (self._facts.at(start) or NOTHING).base
            repaired = base is not None and base.generation is None and base.reach.covers(reach)
            if not repaired:
                self._mark(start, start + self._length, entry.why, reach)

    def _mark(self, start: datetime, end: datetime, why: str, reach: Reach) -> None:
        self._facts.change(start, end, lambda facts: (facts or NOTHING).marked(why, reach))

    def _backfill(self, commit: Logged, entry: BackfillEntry) -> None:
        reach = Reach(entry.raw, entry.topics).preceded_by(self._topics)
        for start, content in entry.content.items():
            written = Written(
                owner=entry.backfill,
                generation=None,
                version=commit.version,
                at=commit.at,
                offsets=entry.raw,
                codes=(entry.code,),
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
        reach = self._examined = entry.reach.preceded_by(self._topics)
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
                codes=(entry.code,),
                content=entry.content.get(start, NO_ROWS),
                watermark=until,
                topics=reach.topics,
                static=entry.static,
                carried=entry.carried.get(start),
            )
            self._facts.change(start, end, writing(written, reach))
        for lossy in self._lossy_from_the_first:
            if since < lossy.until:
                self._mark(since, min(until, lossy.until), lossy.why, UNREACHABLE)
        self._growing = {start: held for start, held in self._growing.items() if start >= until}
        self._first = min(since, self._first or since)
        self._closed_until = self._settled_until = until
        self._raw_is_behind = False

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
        # No state reaches beyond it any more: the streams start again, also where nothing was closed yet.
        self._reached = {code: min(reached, entry.since) for code, reached in self._reached.items()}
        self._upgrades = [
            replace(u, mixed_until=min(u.mixed_until, entry.since)) for u in self._upgrades if u.mixed_until is not None
        ]
        if self._closed_until is None or entry.since >= self._closed_until:
            return

        def opened(facts: Facts | None) -> Facts:
            facts = facts or NOTHING
            if not facts.streamed:
                return facts
            if not facts.holds_rows:
                return Facts(dirt=facts.dirt)
            return replace(facts, stays=True).marked(f"its rows lie beyond what was withdrawn: {entry.why}", Reach({}))

        self._facts.change(entry.since, self._closed_until, opened)
        self._closed_until = entry.since
        self._settled_until = min(self._settled_until or entry.since, entry.since)
