"""Which records stand behind an interval: the part of the raw table that a computation takes for it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sluice.errors import RefusedError
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import LedgerRow
from sluice.intervals.reach import Reach
from sluice.intervals.record_positions import NO_POSITIONS, RecordPositions


@dataclass(frozen=True)
class IntervalBound:
    """What is taken of the records of one interval.

    Attributes:
        reach: what lies below it; None: everything that the raw table holds.
        late: whether late records are taken too.
        replayed: records whose time in the raw table is not theirs, and are read again: they did not decode when they
            came, or were patched.
    """

    reach: Reach | None
    late: bool
    replayed: RecordPositions = field(default_factory=RecordPositions)


def bound_of(mode: Mode, row: LedgerRow, replays: RecordPositions = NO_POSITIONS) -> IntervalBound:
    """Return what a backfill takes of an interval.

    `verify` takes exactly what its base took, `try` what is behind the rows that readers see, the others all there is.

    Args:
        mode: what the backfill does.
        row: what is known of the interval.
        replays: records to be read again from now on; see `IntervalBound.again`.

    Raises:
        RefusedError: nothing was ever written that could be compared with.
    """
    match mode:
        case Mode.TRY:
            if (written := row.current) is None:
                raise RefusedError(f"the interval {row.interval.start:%FT%RZ} was never written: nothing to compare.")
            return IntervalBound(written.reach, written.late, _replayed(row))
        case Mode.VERIFY:
            if row.base is None:
                raise RefusedError(f"the interval {row.interval.start:%FT%RZ} was never written: nothing to verify.")
            return IntervalBound(row.base.reach, row.base.late, RecordPositions.joined(row.base.replayed))
        case Mode.CORRECT:
            return IntervalBound(None, late=True, replayed=_replayed(row) | replays)
        case Mode.RECOMPUTE:
            late = row.current is not None and row.current.late
            return IntervalBound(None, late=late, replayed=_replayed(row) | replays)


def with_common_reach(
    bounds: Mapping[datetime, IntervalBound], settled: Container[datetime]
) -> dict[datetime, IntervalBound]:
    """Give settled intervals the furthest reach of them all, so that one computation serves for all of them.

    What lies between the reaches of two settlements was examined before the second one. A record on time among it would
    have marked the first if its rows were made of it; so the rows of an interval without a mark do not change.

    Args:
        bounds: by the start of the interval.
        settled: intervals without a mark that a settler wrote.
    """
    reaches = {
        start: bound.reach
        for start, bound in bounds.items()
        if start in settled and bound.reach is not None and not bound.late and not bound.replayed.count
    }
    known = list(reaches.values())
    furthest = next((reach for reach in reversed(known) if all(map(reach.covers, known))), None)
    if furthest is None:
        return dict(bounds)
    return {s: replace(bound, reach=furthest) if s in reaches else bound for s, bound in bounds.items()}


def by_bound(bounds: Mapping[datetime, IntervalBound]) -> list[tuple[IntervalBound, list[datetime]]]:
    """Return the bounds, each with the intervals that have it."""
    groups: list[tuple[IntervalBound, list[datetime]]] = []
    for start, bound in sorted(bounds.items(), key=lambda item: item[0]):
        known = next((starts for other, starts in groups if other == bound), None)
        if known is None:
            groups.append((bound, [start]))
        else:
            known.append(start)
    return groups


def published_bound(row: LedgerRow) -> IntervalBound:
    """Return what of the records of an interval is in what readers see, as far as the raw table goes."""
    return IntervalBound(None, late=row.current is not None and row.current.late, replayed=_replayed(row))


def _replayed(row: LedgerRow) -> RecordPositions:
    return RecordPositions.joined(row.current.replayed) if row.current is not None else RecordPositions()
