from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import Counts, ParityOutcome, ParityReport, judge_interval
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice
from sluice.intervals.backfill.selection import BEFORE, Selection, select
from sluice.intervals.entries import Content
from sluice.intervals.ledger import Ledger, LedgerRow, Written
from sluice.intervals.raw_floor import RawFloor, WholeFrom

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)


def at(hour: int) -> datetime:
    return MIDNIGHT + hour * HOUR


def row(hour: int, *, code: str = "today", dirty: tuple[str, ...] = ()) -> LedgerRow:
    written = Written("stream", 1, 1, MIDNIGHT, {"t/0": 1}, code, Content(1, "1"))
    return LedgerRow(Interval(at(hour), at(hour + 1)), base=written, current=written, dirty=dirty)


ROWS = [row(0), row(1, code="yesterday"), row(2, dirty=("batch 7 dropped records",)), row(3)]
LEDGER = Ledger({r.interval.start: r for r in ROWS}, closed_until=at(5), version=9)


def request(mode: Mode, *, only: Only = Only.ALL, why: str = "", hours: int = 6) -> Request:
    return Request("departures", Interval(at(0), at(hours)), mode, "tests", why, only)


def taken(selection: Selection) -> list[int]:
    return [r.interval.start.hour for r in selection.taken]


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.CORRECT])
def test_what_can_be_compared_is_taken_and_the_rest_is_left_with_its_reason(mode: Mode) -> None:
    selection = select(request(mode), LEDGER, HOUR, "today")
    assert taken(selection) == [0, 3]
    reasons = {interval.start.hour: why.partition(":")[0] for interval, why in selection.left.items()}
    assert reasons == {1: "stale", 2: "dirty", 4: "never streamed", 5: "open"}
    assert "batch 7 dropped records" in selection.left[Interval(at(2), at(3))]


def test_a_trial_takes_stale_intervals_too_and_no_dirty_ones() -> None:
    selection = select(request(Mode.TRY), LEDGER, HOUR, "today")
    assert taken(selection) == [0, 1, 3]
    reasons = {interval.start.hour: why.partition(":")[0] for interval, why in selection.left.items()}
    assert reasons == {2: "dirty", 4: "never streamed", 5: "open"}


def test_what_lies_before_the_streams_first_rows_is_left_without_spoiling_the_proof() -> None:
    later = Ledger({r.interval.start: r for r in ROWS[3:]}, closed_until=at(4), version=9)
    left = select(request(Mode.VERIFY, hours=4), later, HOUR, "today").left
    assert {why.partition(":")[0] for why in left.values()} == {BEFORE}
    same = judge_interval(Mode.VERIFY, ROWS[3].interval, Counts(identical=1))
    report = ParityReport("b", "departures", Mode.VERIFY, Interval(at(0), at(4)), "today", at(9), (same,), left)
    assert report.outcome is ParityOutcome.IDENTICAL
    assert replace(report, intervals=()).outcome is ParityOutcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("only", "hours"), [(Only.ALL, [0, 1, 2, 3, 4]), (Only.DIRTY, [2]), (Only.STALE, [1])], ids=str
)
def test_a_recompute_takes_what_it_is_asked_for_but_never_what_is_open(only: Only, hours: list[int]) -> None:
    assert taken(select(request(Mode.RECOMPUTE, only=only, why="a reason"), LEDGER, HOUR, "today")) == hours


def test_recomputing_healthy_intervals_needs_a_reason() -> None:
    with pytest.raises(RefusedError, match=r"2 of the 5 intervals .* 2013-01-01T00:00Z"):
        select(request(Mode.RECOMPUTE, why="  "), LEDGER, HOUR, "today")
    for only in (Only.DIRTY, Only.STALE):
        assert select(request(Mode.RECOMPUTE, only=only), LEDGER, HOUR, "today").taken


@pytest.mark.parametrize("only", [Only.DIRTY, Only.STALE])
def test_what_a_resumed_backfill_has_published_itself_stays_taken_and_needs_no_reason(only: Only) -> None:
    current = ROWS[3].current
    assert current is not None
    published = replace(ROWS[3], current=replace(current, owner="ours", generation=None))
    ledger = replace(LEDGER, rows={**LEDGER.rows, at(3): published})
    state = {Only.DIRTY: 2, Only.STALE: 1}[only]
    assert taken(select(request(Mode.RECOMPUTE, only=only, hours=4), ledger, HOUR, "today", "ours")) == [state, 3]
    assert taken(select(request(Mode.RECOMPUTE, only=only, hours=4), ledger, HOUR, "today", "other")) == [state]
    rest = replace(ledger, rows={start: found for start, found in ledger.rows.items() if start != at(0)})
    asked = replace(request(Mode.RECOMPUTE), range=Interval(at(1), at(4)))
    assert taken(select(asked, rest, HOUR, "today", "ours")) == [1, 2, 3]
    with pytest.raises(RefusedError, match="neither dirty nor stale"):
        select(asked, rest, HOUR, "today")


def test_without_a_closed_interval_everything_is_open() -> None:
    selection = select(request(Mode.RECOMPUTE), Ledger(), HOUR, "today")
    assert selection.taken == ()
    assert len(selection.left) == 6


def test_a_range_of_more_intervals_than_can_be_checked_is_refused_at_once() -> None:
    with pytest.raises(RefusedError, match=r"are 876,600 intervals, and a backfill covers 100,000 at most"):
        select(request(Mode.VERIFY, hours=876_600), LEDGER, HOUR, "today")


hours = st.sets(st.integers(0, 200), min_size=1).map(sorted)


@given(hours, st.integers(24, 100))
def test_chunks_hold_every_interval_once_in_order_and_none_is_too_long(starts: list[int], longest: int) -> None:
    selection = Selection(request(Mode.VERIFY, hours=201), tuple(row(hour) for hour in starts))
    chunks = list(selection.chunks(longest * HOUR))
    assert [r for chunk in chunks for r in chunk] == list(selection.taken)
    assert all(chunk[-1].interval.end - chunk[0].interval.start <= longest * HOUR for chunk in chunks)


@given(hours, st.integers(24, 100), st.data())
def test_a_chunk_keeps_its_number_when_others_are_no_longer_taken(
    starts: list[int], longest: int, data: st.DataObject
) -> None:
    whole = Selection(request(Mode.VERIFY, hours=201), tuple(row(hour) for hour in starts))
    fewer = replace(whole, taken=tuple(r for r in whole.taken if data.draw(st.booleans())))
    numbers = {r.interval: whole.chunk_number(r, longest * HOUR) for r in whole.taken}
    for chunk in fewer.chunks(longest * HOUR):
        assert {fewer.chunk_number(r, longest * HOUR) for r in chunk} == {numbers[chunk[0].interval]}


def test_a_chunk_that_is_no_multiple_of_the_interval_is_cut_short() -> None:
    days = tuple(LedgerRow(Interval(MIDNIGHT + d * DAY, MIDNIGHT + (d + 1) * DAY)) for d in range(4))
    chunks = list(Selection(request(Mode.VERIFY, hours=96), days).chunks(timedelta(hours=36)))
    assert [len(chunk) for chunk in chunks] == [1, 1, 1, 1]


def made_with(hour: int, digest: str, corrected: str = "") -> LedgerRow:
    found = row(hour)
    assert found.base is not None
    base = replace(found.base, static={"shops": digest})
    return replace(found, base=base, current=replace(base, static={"shops": corrected or digest}))


def test_a_chunk_is_made_with_one_content_of_each_static_input() -> None:
    rows = (made_with(0, "a"), made_with(1, "a"), made_with(2, "b"), made_with(3, "a"))
    chunks = list(Selection(request(Mode.VERIFY), rows).chunks(DAY))
    assert [[each.interval.start.hour for each in chunk] for chunk in chunks] == [[0, 1], [2], [3]]
    newest = replace(request(Mode.RECOMPUTE), static=StaticChoice.NEWEST)
    assert list(Selection(newest, rows).chunks(DAY)) == [rows]


@pytest.mark.parametrize(
    ("mode", "digest"), [(Mode.VERIFY, "a"), (Mode.CORRECT, "a"), (Mode.RECOMPUTE, "b"), (Mode.TRY, "b")]
)
def test_an_interval_is_computed_with_what_is_on_record(mode: Mode, digest: str) -> None:
    assert request(mode).static_of(made_with(0, "a", corrected="b")) == {"shops": digest}
    assert request(mode).static_of(LedgerRow(Interval(at(0), at(1)))) == {}


FLOOR = RawFloor(at(1), at(100))
CUT = replace(LEDGER, whole=WholeFrom(at(1), FLOOR, "flights_raw"))


@pytest.mark.parametrize("mode", list(Mode))
def test_an_interval_below_the_floor_is_left_out_and_named_whatever_its_state(mode: Mode) -> None:
    whole = select(request(mode, why="asked"), LEDGER, HOUR, "today")
    cut = select(request(mode, why="asked"), CUT, HOUR, "today")
    assert taken(cut) == [hour for hour in taken(whole) if hour >= 1]
    why = cut.left[Interval(at(0), at(1))]
    assert why.startswith(
        "below the floor: since 2013-01-05, flights_raw keeps no records from before 2013-01-01 01:00"
    )
    assert "the published rows stay as they are" in why


def test_what_was_asked_for_and_published_once_is_not_computed_again_below_the_floor() -> None:
    own = replace(ROWS[0], current=replace(ROWS[0].current, owner="b1"))  # type: ignore[type-var]  it is there
    ledger = replace(CUT, rows={**CUT.rows, at(0): own})
    assert taken(select(request(Mode.RECOMPUTE, why="asked"), ledger, HOUR, "today", "b1")) == [1, 2, 3, 4]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_range_below_the_floor_is_refused_with_the_reason(mode: Mode) -> None:
    below = Interval(at(0), at(1))
    with pytest.raises(RefusedError, match="lies below the floor: since 2013-01-05, flights_raw keeps no records"):
        select(replace(request(mode, why="asked"), range=below), CUT, HOUR, "today")


def test_what_lies_below_the_floor_is_not_verified() -> None:
    cut = select(request(Mode.VERIFY, hours=4), replace(CUT, rows={at(0): ROWS[0], at(3): ROWS[3]}), HOUR, "today")
    same = judge_interval(Mode.VERIFY, Interval(at(3), at(4)), Counts(identical=1))
    report = ParityReport("b", "p", Mode.VERIFY, cut.request.range, "today", at(9), (same,), cut.left)
    assert report.outcome is ParityOutcome.INCONCLUSIVE
    assert "below the floor" in report.why
