from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.bounds import Bound, bound_of, sum_around, with_margin
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Written
from sluice.intervals.request import Mode

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
BASE = Written("stream", 1, 1, MIDNIGHT, {"t/0": 7}, ("today",), Content(1, "1"))
NEVER = LedgerRow(Interval(MIDNIGHT, MIDNIGHT + HOUR))
STREAMED = replace(NEVER, base=BASE, current=BASE)
CORRECTED = replace(STREAMED, current=replace(BASE, generation=None, offsets={"t/0": 9}, late=True))


def at(hour: int) -> datetime:
    return MIDNIGHT + hour * HOUR


def test_a_verify_takes_exactly_what_the_base_took_also_after_a_correction() -> None:
    for row in (STREAMED, CORRECTED):
        assert bound_of(Mode.VERIFY, row) == Bound({"t/0": 7}, late=False)
    with pytest.raises(RefusedError, match="never written"):
        bound_of(Mode.VERIFY, NEVER)


def test_a_correction_takes_everything_and_a_recompute_late_records_only_where_they_are_in_already() -> None:
    assert bound_of(Mode.CORRECT, STREAMED) == Bound(None, late=True)
    late = [bound_of(Mode.RECOMPUTE, row).late for row in (NEVER, STREAMED, CORRECTED)]
    assert late == [False, False, True]


def test_without_settling_time_no_neighbour_matters() -> None:
    bounds = {at(1): Bound({"t/0": 1}, late=False), at(5): Bound({"t/0": 2}, late=True)}
    assert with_margin(bounds, HOUR, timedelta()) == bounds


def test_neighbours_are_bounded_as_the_interval_next_to_them() -> None:
    first, last = Bound({"t/0": 1}, late=False), Bound({"t/0": 2}, late=True)
    widened = with_margin({at(3): first, at(4): last}, HOUR, timedelta(minutes=90))
    assert widened == {at(1): first, at(2): first, at(3): first, at(4): last, at(5): last, at(6): last}


@given(st.sets(st.integers(0, 50), min_size=1), st.integers(0, 300))
def test_a_margin_reaches_as_far_as_records_matter_and_changes_no_bound(hours: set[int], minutes: int) -> None:
    bounds = {at(hour): Bound({"t/0": hour}, late=False) for hour in hours}
    settle = timedelta(minutes=minutes)
    widened = with_margin(bounds, HOUR, settle)
    assert {start: widened[start] for start in bounds} == bounds
    for hour in hours:
        for reached in (at(hour) - settle, at(hour + 1) + settle - timedelta(microseconds=1)):
            assert any(start <= reached < start + HOUR for start in widened)


def test_records_count_for_every_interval_whose_rows_they_can_be_in() -> None:
    counts = {at(3): 2, at(5): 1}
    assert sum_around(counts, HOUR, timedelta()) == counts
    assert sum_around(counts, HOUR, HOUR) == {at(2): 2, at(3): 2, at(4): 3, at(5): 1, at(6): 1}
    assert sum_around(counts, HOUR, timedelta(minutes=1)) == sum_around(counts, HOUR, HOUR)
