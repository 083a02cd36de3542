"""The interval ledger: who wrote each interval, from what, with which code, and in which state it is.

It is a fold over the entries in a table's commits, so whoever reads the log (or the copy that is kept of it) arrives at
the same ledger. Nothing else is truth: the control database only indexes the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.intervals.alignment import Interval, interval_of, intervals_between
from sluice.intervals.entries import (
    NO_ROWS,
    AttemptEntry,
    BackfillEntry,
    Content,
    DirtyEntry,
    Logged,
    StreamEntry,
    VerifiedEntry,
)
from sluice.intervals.places import Piece
from sluice.intervals.reach import Reach
from sluice.intervals.writers import topic_of


class State(StrEnum):
    """What may be done with an interval."""

    OPEN = "open"  # the stream may still write it
    CLOSED = "closed"  # the stream wrote it and will not again
    PUBLISHED = "published"  # a backfill wrote it
    DIRTY = "dirty"  # the stream's result is known to be incomplete
    STALE = "stale"  # other code than today's had a part in it


@dataclass(frozen=True)
class Written:
    """One writing of an interval.

    Attributes:
        owner: the stream's app id, or the backfill's id.
        generation: of the stream; None for a backfill.
        version: the table version that completed it.
        at: when (UTC).
        offsets: the raw offsets behind it: every record of the interval below them was taken.
        codes: hashes of the code behind it; more than one if it was open across an upgrade.
        content: rows and checksum.
        late: late records are in it.
        watermark: that the stream closed it by; None for a backfill.
        topics: ids of the topics that `offsets` and all before them belong to, see `Reach`.
        replayed: records that did not decode when they came, and were read again for it.
    """

    owner: str
    generation: int | None
    version: int
    at: datetime
    offsets: Mapping[str, int]
    codes: tuple[str, ...]
    content: Content
    late: bool = False
    watermark: datetime | None = None
    topics: tuple[str, ...] = ()
    replayed: tuple[Piece, ...] = field(default=(), compare=False)  # the index does not keep it

    @property
    def reach(self) -> Reach:
        """Every record of the interval below it was taken."""
        return Reach(self.offsets, self.topics)


@dataclass(frozen=True)
class Verified:
    """A passed comparison of the base with what the batch computes."""

    backfill: str
    code: str
    at: datetime


@dataclass(frozen=True)
class LedgerRow:
    """What is known of one interval that is closed, or that is known to be incomplete.

    Attributes:
        interval: its bounds.
        base: the newest writing that claims to be complete in itself: by the stream or a recompute. Parity compares
            with it. None for an interval that the stream never wrote.
        current: the newest writing: what readers see. It differs from `base` after a correction.
        dirty: why the result is incomplete; empty if it is not known to be.
        verified: the passed comparison of `base`, if there is one.
    """

    interval: Interval
    base: Written | None = None
    current: Written | None = None
    dirty: tuple[str, ...] = ()
    verified: Verified | None = None

    def state(self, code: str) -> State:
        """Return the state as seen by today's code."""
        if self.dirty:
            return State.DIRTY
        if self.current is None:
            return State.OPEN
        if self.current.codes != (code,):
            return State.STALE
        return State.PUBLISHED if self.current.generation is None else State.CLOSED

    def verified_by(self, code: str) -> bool:
        """Whether a passed comparison by this code is on record."""
        return self.verified is not None and self.verified.code == code


@dataclass(frozen=True)
class Ledger:
    """The intervals of one output table.

    Attributes:
        rows: by start; open intervals have none, unless they are dirty.
        closed_until: end of the last closed interval; None before the first.
        version: the newest table version that was looked at.
        ahead: starts of dirty intervals of which the raw table does not hold all that they lack yet: a recompute would
            leave them dirty. No part of the truth about the intervals: the index does not keep it.
    """

    rows: Mapping[datetime, LedgerRow] = field(default_factory=dict)
    closed_until: datetime | None = None
    version: int = -1
    ahead: frozenset[datetime] = field(default=frozenset(), compare=False)

    def count(self, code: str) -> dict[State, int]:
        """Return how many intervals are in each state."""
        states = [row.state(code) for row in self.rows.values()]
        return {state: states.count(state) for state in State}


def fold(commits: Iterable[Logged], length: timedelta, raw: Reach | None = None) -> Ledger:
    """Return the ledger that these commits amount to.

    Args:
        commits: the entries of one table, oldest first.
        length: of an interval.
        raw: how far the raw table goes: what a stream closed before the raw table holds everything behind it is not
            closed yet. None: the raw table holds everything.
    """
    commits = list(commits)
    folding = _Folding(length, None if raw is None else _with_known(raw, commits))
    for commit in commits:
        folding.add(commit)
    return folding.result()


def _with_known(raw: Reach, commits: Iterable[Logged]) -> Reach:
    """Add the topics that the log knows to be older than the raw table's newest, for a record that is lost."""
    writers = (commit.entry.writer for commit in commits if isinstance(commit.entry, _OfStream))
    return raw.preceded_by(list(dict.fromkeys(filter(None, map(topic_of, writers)))))


_OfStream = StreamEntry | AttemptEntry | DirtyEntry


class _Folding:
    def __init__(self, length: timedelta, raw: Reach | None) -> None:
        self._length = length
        self._raw = raw
        self._rows: dict[datetime, LedgerRow] = {}
        self._topics: list[str] = []  # oldest first
        self._dirt: dict[datetime, dict[str, Reach]] = {}  # why, and who has read up to where knows better
        self._growing: dict[datetime, Content] = {}
        self._reached: dict[str, datetime] = {}  # the greatest watermark that each code evicted by
        self._upgrades: list[AttemptEntry] = []
        self._first: datetime | None = None
        self._closed_until: datetime | None = None  # as the stream says
        self._settled_until: datetime | None = None  # as far as the raw table agrees
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

    def result(self) -> Ledger:
        rows = (self._as_settled(row) for _, row in sorted(self._rows.items()))
        known = {row.interval.start: row for row in rows if row.current is not None or row.dirty}
        ahead = frozenset(start for start, dirt in self._dirt.items() if any(map(self._is_beyond_raw, dirt.values())))
        return Ledger(known, self._settled_until, self._version, ahead)

    def _as_settled(self, row: LedgerRow) -> LedgerRow:
        """Return a row with its dirt, and without what the stream wrote of an interval that is not closed yet."""
        row = replace(row, dirty=tuple(self._dirt.get(row.interval.start, ())))
        streamed = row.current is not None and row.current.generation is not None
        if not streamed or (self._settled_until is not None and row.interval.end <= self._settled_until):
            return row
        return LedgerRow(row.interval, dirty=row.dirty)

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
        for interval in intervals_between(since, entry.closed_until, self._length):
            self._close(interval, commit, entry, reach)
        self._closed_until = max(entry.closed_until, self._closed_until or entry.closed_until)
        if not self._raw_is_behind:
            self._settled_until = self._closed_until

    def _is_beyond_raw(self, reach: Reach) -> bool:
        return self._raw is not None and not self._raw.covers(reach)

    def _grow(self, start: datetime, added: Content, entry: StreamEntry) -> None:
        interval = interval_of(start, self._length)
        self._first = min(interval.start, self._first or interval.start)
        if self._closed_until is not None and interval.end <= self._closed_until:
            why = f"generation {entry.generation} of {entry.writer} wrote it after it was closed"
            self._mark(interval.start, why, self._reach_of(entry))
            return
        held = self._growing.get(interval.start, NO_ROWS)
        total = Content(held.rows + added.rows, str(int(held.checksum) + int(added.checksum)))
        self._growing[interval.start] = total

    def _close(self, interval: Interval, commit: Logged, entry: StreamEntry, reach: Reach) -> None:
        written = Written(
            owner=entry.writer,
            generation=entry.generation,
            version=commit.version,
            at=commit.at,
            offsets=entry.end,
            codes=self._codes_behind(interval, entry),
            content=self._growing.pop(interval.start, NO_ROWS),
            watermark=entry.watermark,
            topics=reach.topics,
        )
        self._rows[interval.start] = LedgerRow(interval, base=written, current=written)
        if entry.suspect_until is not None and interval.start <= entry.suspect_until:
            why = f"the state of lineage {entry.lineage} began after records of this interval"
            self._mark(interval.start, why, Reach(entry.origin, reach.topics))

    def _codes_behind(self, interval: Interval, entry: StreamEntry) -> tuple[str, ...]:
        """Return the codes whose state or windows are in an interval, oldest first."""
        states = (u.replaced for u in self._upgrades if u.mixed_until and interval.start <= u.mixed_until)
        windows = (code for code, reached in self._reached.items() if reached > interval.start)
        return tuple(dict.fromkeys([*(code for code in states if code is not None), *windows, entry.code]))

    def _drop(self, entry: DirtyEntry) -> None:
        reach = self._reach_of(entry)
        for start in entry.intervals:
            base = self._row(start).base
            repaired = base is not None and base.generation is None and base.reach.covers(reach)
            if not repaired:
                self._mark(start, entry.why, reach)

    def _mark(self, start: datetime, why: str, reach: Reach) -> None:
        """Note that an interval lacks records below `reach`; what was compared before does not count any more."""
        self._dirt.setdefault(start, {})[why] = reach  # of the same breach again, the later end
        self._rows[start] = replace(self._row(start), verified=None)

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
            )
            row = self._row(start)
            if entry.mode == "correct":
                self._rows[start] = replace(row, current=written)
            else:
                self._rows[start] = LedgerRow(row.interval, base=written, current=written)
                self._clean(start, reach)

    def _clean(self, start: datetime, raw: Reach) -> None:
        """Forget what a recompute that has read up to `raw` has made good."""
        dirt = self._dirt.get(start, {})
        self._dirt[start] = {why: reach for why, reach in dirt.items() if not raw.covers(reach)}

    def _verify(self, commit: Logged, entry: VerifiedEntry) -> None:
        for start in entry.intervals:
            row = self._row(start)
            if row.base is not None and row.base.version <= entry.as_of:
                verified = Verified(entry.backfill, entry.code, commit.at)
                self._rows[start] = replace(row, verified=verified)

    def _row(self, start: datetime) -> LedgerRow:
        return self._rows.get(start) or LedgerRow(interval_of(start, self._length))
