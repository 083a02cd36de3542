"""Which records stand behind an interval: the part of the raw table that a computation takes for it."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.errors import RefusedError
from sluice.intervals.ledger import LedgerRow
from sluice.intervals.reach import Reach
from sluice.intervals.request import Mode


@dataclass(frozen=True)
class Bound:
    """What is taken of the records of one interval.

    Attributes:
        reach: what lies below it; None: everything that the raw table holds.
        late: whether late records are taken too.
    """

    reach: Reach | None
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
            return Bound(row.base.reach, row.base.late)
        case Mode.CORRECT:
            return Bound(None, late=True)
        case Mode.RECOMPUTE:
            return Bound(None, late=row.current is not None and row.current.late)
