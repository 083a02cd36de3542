from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.bounds import IntervalBound, bound_of
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Written
from sluice.intervals.reach import Reach

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
BASE = Written("stream", 1, 1, MIDNIGHT, {"t/0": 7}, ("today",), Content(1, "1"), topics=("first",))
NEVER = LedgerRow(Interval(MIDNIGHT, MIDNIGHT + HOUR))
STREAMED = replace(NEVER, base=BASE, current=BASE)
CORRECTED = replace(STREAMED, current=replace(BASE, generation=None, offsets={"t/0": 9}, late=True))


def test_a_verify_takes_exactly_what_the_base_took_also_after_a_correction() -> None:
    for row in (STREAMED, CORRECTED):
        assert bound_of(Mode.VERIFY, row) == IntervalBound(Reach({"t/0": 7}, ("first",)), late=False)
    with pytest.raises(RefusedError, match="never written"):
        bound_of(Mode.VERIFY, NEVER)


def test_a_correction_takes_everything_and_a_recompute_late_records_only_where_they_are_in_already() -> None:
    assert bound_of(Mode.CORRECT, STREAMED) == IntervalBound(None, late=True)
    late = [bound_of(Mode.RECOMPUTE, row).late for row in (NEVER, STREAMED, CORRECTED)]
    assert late == [False, False, True]


def test_a_trial_takes_exactly_what_is_behind_the_rows_that_readers_see() -> None:
    assert bound_of(Mode.TRY, STREAMED) == IntervalBound(Reach({"t/0": 7}, ("first",)), late=False)
    assert bound_of(Mode.TRY, CORRECTED) == IntervalBound(Reach({"t/0": 9}, ("first",)), late=True)
    with pytest.raises(RefusedError, match="nothing to compare"):
        bound_of(Mode.TRY, NEVER)
