from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.bounds import IntervalBound, bound_of, by_bound, with_common_reach
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Written
from sluice.intervals.reach import Reach
from sluice.intervals.record_positions import RecordPositions

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
BASE = Written("stream", 1, 1, MIDNIGHT, {"t/0": 7}, "today", Content(1, "1"), topics=("first",))
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


def _at(end: int, *, topic: str = "first", late: bool = False) -> IntervalBound:
    return IntervalBound(Reach({"t/0": end}, (topic,)), late=late)


def test_settled_intervals_share_the_furthest_reach_and_no_other_bound_changes() -> None:
    first, second, third, fourth = (MIDNIGHT + number * HOUR for number in range(4))
    bounds = {first: _at(3), second: _at(7), third: _at(9), fourth: _at(5, late=True)}
    shared = with_common_reach(bounds, {first, second, fourth})
    assert shared == {first: _at(7), second: _at(7), third: _at(9), fourth: _at(5, late=True)}
    assert by_bound(shared) == [(_at(7), [first, second]), (_at(9), [third]), (_at(5, late=True), [fourth])]


def test_replayed_records_are_those_of_their_interval_alone() -> None:
    replayed = replace(_at(3), replayed=RecordPositions.of([("first", 0, 1)]))
    bounds = {MIDNIGHT: replayed, MIDNIGHT + HOUR: _at(7)}
    assert with_common_reach(bounds, set(bounds)) == bounds


def test_reaches_of_which_none_covers_the_others_stay_apart() -> None:
    apart = {MIDNIGHT: IntervalBound(Reach({"t/0": 3, "t/1": 0}), late=False)}
    apart |= {MIDNIGHT + HOUR: IntervalBound(Reach({"t/0": 0, "t/1": 3}), late=False)}
    assert with_common_reach(apart, set(apart)) == apart
