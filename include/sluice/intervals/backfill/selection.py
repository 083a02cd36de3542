"""Which intervals a backfill takes, and why it leaves the others out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval, contiguous, intervals_between
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.ledger import Ledger, LedgerRow, State
from sluice.intervals.raw_floor import BELOW_FLOOR

OPEN, BEFORE = "open", "before the stream's first rows"
"""How the reason begins where an interval is left out that no writer claims to have finished: this spoils no proof."""
MAX_INTERVALS = 100_000
"""How many intervals one backfill checks, one by one: eleven years of hours."""
NOT_CHECKED = "not compared"
"""How it begins where a backfill took an interval, and did not come to it."""


@dataclass(frozen=True)
class Selection:
    """The intervals of a request.

    Attributes:
        request: what was asked.
        taken: what the backfill works on, in order.
        left: the other intervals of the range by state, with the reason for people.
    """

    request: Request
    taken: tuple[LedgerRow, ...] = ()
    left: dict[Interval, str] = field(default_factory=dict)

    @property
    def ranges(self) -> list[Interval]:
        """The taken intervals, joined where they touch."""
        return contiguous(row.interval for row in self.taken)

    def chunks(self, longest: timedelta) -> Iterator[tuple[LedgerRow, ...]]:
        """Yield the taken intervals in pieces that span no more than `longest` each: what one commit publishes.

        The pieces are cut from the start of the range, so a chunk has the same number whatever else is taken; and where
        the changing static inputs that intervals are computed with are others.
        """
        for _, chunk in groupby(self.taken, key=lambda row: (self.chunk_number(row, longest), self._static(row))):
            yield tuple(chunk)

    def _static(self, row: LedgerRow) -> list[tuple[str, str]]:
        return sorted(self.request.static_of(row).items())

    def chunk_number(self, row: LedgerRow, longest: timedelta) -> int:
        """Return the number, from 0, of the chunk that an interval is in."""
        length = row.interval.end - row.interval.start
        return (row.interval.start - self.request.range.start) // (longest - longest % length)


def select(request: Request, ledger: Ledger, length: timedelta, code: str, own: str = "") -> Selection:
    """Choose the intervals of a request.

    Args:
        request: what was asked.
        ledger: of the pipeline's output.
        length: of an interval.
        code: today's hash.
        own: the backfill that goes on with this request, if one does. What it has published itself stays taken: it was
            asked for, whatever state it is in now.

    Raises:
        RefusedError: the range holds more intervals than one backfill checks, records of all that it could take were
            removed, or a recompute of healthy intervals has no reason.
    """
    if (asked := (request.range.end - request.range.start) // length) > MAX_INTERVALS:
        raise RefusedError(
            f"{request.range.start:%FT%RZ} to {request.range.end:%FT%RZ} are {asked:,} intervals, and a backfill "
            f"covers {MAX_INTERVALS:,} at most.",
            fix="choose a shorter range.",
        )
    taken: list[LedgerRow] = []
    left: dict[Interval, str] = {}
    for interval in intervals_between(request.range.start, request.range.end, length):
        row = ledger.rows.get(interval.start) or LedgerRow(interval)
        why = _left_out(request, row, ledger, code)
        if why is None or (_published_by(own, row) and ledger.is_whole(interval.start)):
            taken.append(row)
        else:
            left[interval] = why
    _refuse_below_floor(request, taken, left)
    _refuse_without_reason(request, [row for row in taken if not _published_by(own, row)], code)
    return Selection(request, tuple(taken), left)


def _left_out(request: Request, row: LedgerRow, ledger: Ledger, code: str) -> str | None:
    """Return why an interval is left out, or None if it is taken."""
    if not ledger.closes(row):
        return f"{OPEN}: the stream may still write it"
    if ledger.whole is not None and row.interval.start < ledger.whole.start:
        return ledger.whole.why
    state = row.state(code)
    if request.mode is Mode.RECOMPUTE:
        wanted = {Only.ALL: set(State), Only.DIRTY: {State.DIRTY}, Only.STALE: {State.STALE}}[request.only]
        return None if state in wanted else f"{state}: only {request.only} intervals were requested"
    if request.mode is Mode.TRY and state is State.STALE:  # which is what is to be tried
        return None
    first = ledger.first or row.interval.end
    before = f"{BEFORE}: it was never streamed; recompute it if it should have rows"
    reasons = {
        State.DIRTY: f"dirty: {'; '.join(row.dirty)}; a repair recomputes it",
        State.STALE: "stale: other code than today's wrote it; recompute it",
        State.OPEN: before
        if row.interval.start < first
        else "never streamed: there is nothing to compare with; recompute it",
    }
    return reasons.get(state)


def _published_by(backfill: str, row: LedgerRow) -> bool:
    return bool(backfill) and row.current is not None and row.current.owner == backfill


def _refuse_below_floor(request: Request, taken: list[LedgerRow], left: Mapping[Interval, str]) -> None:
    below = {interval: why for interval, why in left.items() if why.startswith(BELOW_FLOOR)}
    if below and not taken and all(why.startswith((BELOW_FLOOR, OPEN, BEFORE)) for why in left.values()):
        first, why = next(iter(below.items()))
        among = "the interval" if len(below) == 1 else f"each of the {len(below):,} closed intervals from"
        raise RefusedError(
            f"{among} {first.start:%FT%RZ} of {request.pipeline} lies {why}.",
            fix="choose a range that begins later; a longer `raw.retention` brings nothing back.",
        )


def _refuse_without_reason(request: Request, taken: list[LedgerRow], code: str) -> None:
    healthy = [row for row in taken if row.state(code) in (State.CLOSED, State.PUBLISHED)]
    if request.mode is Mode.RECOMPUTE and healthy and not request.why.strip():
        first = healthy[0].interval
        raise RefusedError(
            f"{len(healthy)} of the {len(taken)} intervals are neither dirty nor stale, the first at "
            f"{first.start:%FT%RZ}, and no reason is given for recomputing them.",
            fix="give a reason; it is recorded.",
        )
