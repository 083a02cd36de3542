"""What to do about an interval in its present state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.ledger import LedgerRow, State
from sluice.intervals.raw_floor import WholeFrom


@dataclass(frozen=True)
class Advice:
    """What to do about an interval.

    Attributes:
        why: its state in one sentence.
        mode: of the backfill that is due; None if none is.
        only: which intervals that backfill should take.
        by_itself: whether it starts without being asked.
    """

    why: str
    mode: Mode | None = None
    only: Only = Only.ALL
    by_itself: bool = False


def advise(
    row: LedgerRow, closed_until: datetime | None, code: str, *, repair: bool, whole: WholeFrom | None = None
) -> Advice:
    """Say what an interval needs.

    Args:
        row: what the ledger knows of it.
        closed_until: end of the last closed interval; None before the first.
        code: today's hash.
        repair: whether dirty intervals of this pipeline are recomputed without being asked.
        whole: from which interval on records can be read again; None: nothing was removed.
    """
    state = row.state(code)
    if row.current is None and (closed_until is None or row.interval.end > closed_until):
        late = "; it is dirty already, and repaired when it is closed" if state is State.DIRTY else ""
        return Advice(f"The stream may still write it{late}.")
    if whole is not None and row.interval.start < whole.start:
        return Advice(f"It lies {whole.why}.")
    return _advise_closed(row, state, code, repair=repair)


def _advise_closed(row: LedgerRow, state: State, code: str, *, repair: bool) -> Advice:
    match state:
        case State.OPEN:
            return Advice("It was never streamed: a recompute gives it its rows.", Mode.RECOMPUTE)
        case State.DIRTY if row.lossy:
            return Advice("Records of it were lost before they were read; no recompute brings them back.")
        case State.DIRTY:
            return Advice("The stream's result is incomplete.", Mode.RECOMPUTE, Only.DIRTY, by_itself=repair)
        case State.STALE:
            return Advice("Other code than today's had a part in it.", Mode.RECOMPUTE, Only.STALE)
        case State.CLOSED | State.PUBLISHED:
            return _advise_healthy(row, code)


def _advise_healthy(row: LedgerRow, code: str) -> Advice:
    if not row.verified_by(code):
        return Advice("No comparison of stream and batch is on record for today's code.", Mode.VERIFY)
    if row.current is not None and row.current.late:
        return Advice("It is verified, and late records are in it.")
    return Advice("It is verified; late records, if there are any, are not in it.", Mode.CORRECT)
