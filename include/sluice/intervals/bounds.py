"""Which records stand behind an interval: the part of the raw table that a computation takes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval, contiguous, intervals_between
from sluice.intervals.ledger import LedgerRow
from sluice.intervals.request import Mode


@dataclass(frozen=True)
class Bound:
    """What is taken of the records of one interval.

    Attributes:
        offsets: next offset per `topic/partition`; None: everything that the raw table holds.
        late: whether late records are taken too.
    """

    offsets: Mapping[str, int] | None
    late: bool


def bound_of(mode: Mode, row: LedgerRow) -> Bound:
    """Return what a backfill takes of an interval: `verify` exactly what its base took, the others all there is.

    Raises:
        RefusedError: there is no base to verify.
    """
    match mode:
        case Mode.VERIFY:
            if row.base is None:
                raise RefusedError(f"the interval {row.interval.start:%FT%RZ} was never written: nothing to verify.")
            return Bound(row.base.offsets, row.base.late)
        case Mode.CORRECT:
            return Bound(None, late=True)
        case Mode.RECOMPUTE:
            return Bound(None, late=row.current is not None and row.current.late)


def with_margin(bounds: Mapping[datetime, Bound], length: timedelta, settle: timedelta) -> dict[datetime, Bound]:
    """Add the neighbours whose records also make rows of these intervals, each bounded as the interval next to it.

    Args:
        bounds: by the interval's start.
        length: of an interval.
        settle: how far from an interval the records behind its rows may lie; 0 for tumbling windows.
    """
    reach = _reach(length, settle) * length
    widened = dict(bounds)
    for block in contiguous(Interval(start, start + length) for start in bounds):
        for interval in intervals_between(block.start - reach, block.start, length):
            widened.setdefault(interval.start, bounds[block.start])
        for interval in intervals_between(block.end, block.end + reach, length):
            widened.setdefault(interval.start, bounds[block.end - length])
    return widened


def sum_around(counts: Mapping[datetime, int], length: timedelta, settle: timedelta) -> dict[datetime, int]:
    """Return for each interval the records that can have a part in its rows: its own, and those of its neighbours.

    Args:
        counts: records by their interval's start.
        length: of an interval.
        settle: how far from an interval the records behind its rows may lie.
    """
    reach = _reach(length, settle)
    found: dict[datetime, int] = {}
    for start, records in counts.items():
        for steps in range(-reach, reach + 1):
            near = start + steps * length
            found[near] = found.get(near, 0) + records
    return found


def _reach(length: timedelta, settle: timedelta) -> int:
    """Return how many intervals away the records behind an interval's rows may lie."""
    return -(-settle // length)
