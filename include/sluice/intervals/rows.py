"""The rows of a ledger: one by one for a caller that asks for one, and kept as ranges where they do not differ."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sluice.intervals.alignment import Interval
from sluice.intervals.carried import Carried
from sluice.intervals.entries import LOST, Content
from sluice.intervals.reach import Reach
from sluice.intervals.record_positions import PartitionRange
from sluice.wording import ExplainedEnum

INHERITED = "it continues the state of"
"""How the reason begins why an interval is dirty that has no fault of its own."""
REOPENED = "it is open again, and records came since it was published"
"""Why an interval is dirty until it is settled again: records go on coming."""


class State(ExplainedEnum):
    """What may be done with an interval."""

    OPEN = "open", "the stream may still write it, or it was never streamed"
    CLOSED = "closed", "the stream wrote it and will not write it again", "verify it against a batch"
    PUBLISHED = "published", "a backfill wrote it"
    DIRTY = (
        "dirty",
        "the stream's result is known to be incomplete",
        "a repair recomputes it, automatically if the spec says so",
    )
    STALE = "stale", "code other than today's computed it", "recompute it if today's code should apply to it"


@dataclass(frozen=True)
class Written:
    """One writing of an interval.

    Attributes:
        owner: the settler's name, or the backfill's id.
        generation: of the settler; None for a backfill.
        version: the table version that completed it.
        at: when (UTC).
        offsets: the raw offsets behind it: every record of the interval below them was taken.
        code: hash of the code behind it.
        content: rows and checksum.
        late: late records are in it.
        topics: ids of the topics that `offsets` and all before them belong to, see `Reach`.
        replayed: records that did not decode when they came, and were read again for it.
        static: digests of the changing static inputs that it was made with, by name.
        carried: the states that it continued and left; None without records, and where nothing is carried.
    """

    owner: str
    generation: int | None
    version: int
    at: datetime
    offsets: Mapping[str, int]
    code: str
    content: Content
    late: bool = False
    topics: tuple[str, ...] = ()
    replayed: tuple[PartitionRange, ...] = field(default=(), compare=False)  # the index does not keep it
    static: Mapping[str, str] = field(default_factory=dict, compare=False)  # the same
    carried: Carried | None = field(default=None, compare=False)  # the same

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
        interval: its bounds; of several intervals side by side, from the first to the last.
        base: the newest writing that claims to be complete in itself: by the settler or a recompute. Parity compares
            with it. None for an interval that neither wrote.
        current: the newest writing: what readers see. It differs from `base` after a correction.
        dirty: why the result is incomplete; empty if it is not known to be.
        verified: the passed comparison of `base`, if there is one.
        count: how many intervals it stands for; more than one only where they hold no rows and are alike.
    """

    interval: Interval
    base: Written | None = None
    current: Written | None = None
    dirty: tuple[str, ...] = ()
    verified: Verified | None = None
    count: int = 1

    def state(self, code: str) -> State:
        """Return the state as seen by today's code."""
        if self.dirty:
            return State.DIRTY
        if self.current is None:
            return State.OPEN
        if self.current.code != code:
            return State.STALE
        return State.PUBLISHED if self.current.generation is None else State.CLOSED

    @property
    def lossy(self) -> bool:
        """Whether records of it are lost for good: no recompute brings them back."""
        return any(why.endswith(LOST) for why in self.dirty)

    @property
    def marks(self) -> tuple[str, ...]:
        """Why it is dirty itself, and not by what it continues."""
        return tuple(why for why in self.dirty if not why.startswith(INHERITED))

    @property
    def carried(self) -> Carried | None:
        """The states that what readers see continued and left."""
        return None if self.current is None else self.current.carried

    def verified_by(self, code: str) -> bool:
        """Whether a passed comparison by this code is on record."""
        return self.verified is not None and self.verified.code == code

    @property
    def length(self) -> timedelta:
        """Of one of its intervals."""
        return (self.interval.end - self.interval.start) / self.count

    def each(self) -> Iterator[LedgerRow]:
        """Yield a row for each interval that it stands for, in order."""
        if self.count == 1:
            yield self
            return
        start, length = self.interval.start, self.length
        for _ in range(self.count):
            yield replace(self, interval=Interval(start, start + length), count=1)
            start += length

    def within(self, since: datetime | None, until: datetime | None) -> LedgerRow | None:
        """Return the row of those of its intervals that lie in `[since, until)`; None if none does."""
        if (since is None or self.interval.start >= since) and (until is None or self.interval.end <= until):
            return self
        start, length = self.interval.start, self.length
        skipped = max(0, -((start - since) // length)) if since is not None else 0
        kept = min(self.count, (until - start) // length) if until is not None else self.count
        if skipped >= kept:
            return None
        bounds = Interval(start + skipped * length, start + kept * length)
        return replace(self, interval=bounds, count=kept - skipped)


class Rows(Mapping[datetime, LedgerRow]):
    """The rows of a ledger by the start of their interval. To walk through many, use `spans`.

    Args:
        spans: rows in order; each may stand for several intervals.
    """

    def __init__(self, spans: Iterable[LedgerRow] = ()) -> None:
        self.spans = tuple(spans)
        self._starts = [row.interval.start for row in self.spans]

    def __getitem__(self, start: datetime) -> LedgerRow:
        place = bisect_right(self._starts, start) - 1
        if place < 0:
            raise KeyError(start)
        row = self.spans[place]
        if row.count == 1:
            if row.interval.start == start:
                return row
            raise KeyError(start)
        if start >= row.interval.end or (start - row.interval.start) % row.length:
            raise KeyError(start)
        return replace(row, interval=Interval(start, start + row.length), count=1)

    def __iter__(self) -> Iterator[datetime]:
        return (single.interval.start for row in self.spans for single in row.each())

    def __len__(self) -> int:
        return sum(row.count for row in self.spans)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows):
            return self.spans == other.spans
        return dict(self) == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Rows({list(self.spans)!r})"
