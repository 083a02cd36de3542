from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.advice import advise
from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Verified, Written
from sluice.intervals.raw_floor import RawFloor, WholeFrom

HOUR = timedelta(hours=1)
START = datetime(2013, 1, 1, tzinfo=UTC)
END = START + HOUR
STREAMED = Written("s", 1, 3, START, {"t/0": 9}, "c1", Content(5, "7"))
CORRECTED = replace(STREAMED, owner="b1", generation=None, late=True)
VERIFIED = Verified("b0", "c1", START)
NEVER = LedgerRow(Interval(START, END))
CLOSED = replace(NEVER, base=STREAMED, current=STREAMED)


@pytest.mark.parametrize(
    ("row", "mode", "only"),
    [
        (NEVER, Mode.RECOMPUTE, Only.ALL),
        (replace(CLOSED, dirty=("dropped",)), Mode.RECOMPUTE, Only.DIRTY),
        (replace(CLOSED, current=replace(STREAMED, code="c0")), Mode.RECOMPUTE, Only.STALE),
        (CLOSED, Mode.VERIFY, Only.ALL),
        (replace(CLOSED, verified=replace(VERIFIED, code="c0")), Mode.VERIFY, Only.ALL),
        (replace(CLOSED, verified=VERIFIED), Mode.CORRECT, Only.ALL),
        (replace(CLOSED, verified=VERIFIED, current=CORRECTED), None, Only.ALL),
    ],
    ids=["never-streamed", "dirty", "stale", "closed", "verified-by-other-code", "verified", "corrected"],
)
def test_a_closed_interval_is_told_what_it_needs(row: LedgerRow, mode: Mode | None, only: Only) -> None:
    advice = advise(row, END, "c1", repair=True)
    assert (advice.mode, advice.only) == (mode, only)


@pytest.mark.parametrize("closed_until", [None, START])
@pytest.mark.parametrize("row", [NEVER, replace(NEVER, dirty=("dropped",))])
def test_an_open_interval_is_left_to_the_stream(row: LedgerRow, closed_until: datetime | None) -> None:
    advice = advise(row, closed_until, "c1", repair=True)
    assert advice.mode is None
    assert "may still write it" in advice.why


@pytest.mark.parametrize("repair", [True, False])
def test_a_repair_starts_by_itself_where_the_spec_says_so(repair: bool) -> None:
    assert advise(replace(CLOSED, dirty=("dropped",)), END, "c1", repair=repair).by_itself is repair


def test_nothing_is_due_below_the_floor() -> None:
    whole = WholeFrom(CLOSED.interval.end, RawFloor(CLOSED.interval.end, END), "flights_raw")
    for row in (CLOSED, replace(CLOSED, dirty=("dropped",))):
        advice = advise(row, END, "c2", repair=True, whole=whole)
        assert (advice.mode, advice.by_itself) == (None, False)
        assert advice.why.startswith("It lies below the floor: ")
    later = replace(whole, start=CLOSED.interval.start)
    assert advise(CLOSED, END, "c1", repair=True, whole=later) == advise(CLOSED, END, "c1", repair=True)
