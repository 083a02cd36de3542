"""Intervals that continue the state of the one before: what is wrong with one is wrong with all behind it.

Nothing marks them. Each says which state it continued, by the digest of its content, so a ledger shows where the chain
is broken; and an interval that was computed again and left the same state breaks nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from sluice.intervals.carried import NO_STATE, LeftState
from sluice.intervals.entries import LOST
from sluice.intervals.rows import INHERITED, LedgerRow


@dataclass(frozen=True)
class _Cause:
    """Why the states behind an interval are not what they should be.

    Attributes:
        why: for people.
        stuck: no recompute makes it good.
    """

    why: str
    stuck: bool = False


def continued(rows: Iterable[LedgerRow], start: datetime) -> LeftState:
    """Return the state that an interval continues: that of the newest one before it which has left one.

    Args:
        rows: of a ledger, in order.
        start: of the interval.
    """
    before = [row for row in rows if row.interval.start < start and row.carried is not None]
    newest = before[-1] if before else None
    if newest is None or newest.carried is None:
        return NO_STATE
    return LeftState(newest.interval.start, newest.carried.after)


def with_inherited(
    rows: Iterable[LedgerRow], ahead: Collection[datetime]
) -> tuple[list[LedgerRow], frozenset[datetime]]:
    """Return rows, those that continue a state which is not what it should be as dirty.

    Args:
        rows: of a ledger, in order.
        ahead: see `Ledger.ahead`, of what each row says itself.

    Returns:
        The rows, and `ahead` of them.
    """
    cause: _Cause | None = None
    last: LedgerRow | None = None
    found, stuck = list[LedgerRow](), set(ahead)
    for row in rows:
        if row.carried is not None and last is not None and last.carried is not None:
            broken = last.carried.after != row.carried.before
            if broken and (cause is None or cause.stuck):
                cause = _Cause(f"{INHERITED} {last.interval.start:%FT%RZ}, which was computed again since")
        inherits = row.carried is not None and cause is not None
        if inherits and cause is not None:
            found.append(replace(row, dirty=(*row.dirty, cause.why), verified=None))
            own_is_stuck = not row.dirty or row.interval.start in ahead
            (stuck.add if cause.stuck and own_is_stuck else stuck.discard)(row.interval.start)
        else:
            found.append(row)
        if row.dirty and (cause is None or (cause.stuck and row.interval.start not in ahead)):
            cause = _cause(row, stuck=row.interval.start in ahead)
        last = row if row.carried is not None else last
    return found, frozenset(stuck)


def _cause(row: LedgerRow, *, stuck: bool) -> _Cause:
    how = f"whose records {LOST}" if row.lossy else "which is dirty"
    return _Cause(f"{INHERITED} {row.interval.start:%FT%RZ}, {how}", stuck)
