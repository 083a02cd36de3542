"""How far the floor of a raw table goes: up to the age of its records, and never past what somebody still needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.entries import LOST, BackfillEntry, Content, ExaminedSource, Logged, SettleEntry
from sluice.intervals.ledger import Ledger, LedgerRow, fold
from sluice.intervals.raw_floor import RawFloor, WholeFrom
from sluice.intervals.reach import Reach
from sluice.settling.retention import (
    FloorDecision,
    RawNeed,
    least_retention,
    need_of_backfill,
    needs_of_table,
    next_floor,
    whole_from,
)
from sluice.settling.rules import SettlingRules

NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RULES = SettlingRules(HOUR, allowed_lateness=HOUR, arrival_disorder=HOUR, lookback=3 * HOUR, lookahead=2 * HOUR)
START = datetime(2026, 11, 1, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - days * DAY


def midnight(days: int) -> datetime:
    return ago(days).replace(hour=0, minute=0)


def test_by_age_alone_the_floor_is_the_midnight_before() -> None:
    assert next_floor(400 * DAY, NOW, NOW, (), None) == FloorDecision(midnight(400), midnight(400))


def test_what_somebody_needs_holds_it_and_is_named() -> None:
    need, later = RawNeed(ago(500), "slow has not settled it"), RawNeed(ago(10), "fast has not settled it")
    assert next_floor(400 * DAY, NOW, NOW, [later, need], None) == FloorDecision(midnight(500), midnight(400), need)
    assert next_floor(400 * DAY, NOW, NOW, [later], None).held is None


def test_who_has_not_begun_needs_all() -> None:
    need = RawNeed(None, "new has settled nothing")
    assert next_floor(400 * DAY, NOW, NOW, [RawNeed(ago(900), "old"), need], None).floor is None
    assert next_floor(400 * DAY, NOW, NOW, [RawNeed(ago(900), "old"), need], None).held == need


def test_a_need_from_before_the_floor_leaves_it_where_it_is() -> None:
    before, need = RawFloor(midnight(450), NOW), RawNeed(ago(500), "slow")
    assert next_floor(400 * DAY, NOW, NOW, [need], before) == FloorDecision(None, midnight(400), need)
    assert next_floor(450 * DAY, NOW, NOW, (), before) == FloorDecision()


def test_of_a_topic_whose_records_are_old_nothing_becomes_older_by_our_own_clock() -> None:
    newest = datetime(2013, 1, 31, 23, tzinfo=UTC)
    assert next_floor(10 * DAY, newest, NOW, (), None).floor == datetime(2013, 1, 21, tzinfo=UTC)
    assert next_floor(10 * DAY, NOW + 1000 * DAY, NOW, (), None).floor == midnight(10), "a record of the future"
    assert next_floor(10 * DAY, None, NOW, (), None) == FloorDecision()


instants = st.integers(0, 1000 * 24).map(lambda hours: NOW - hours * HOUR)
needs = st.lists(st.one_of(instants, st.none()).map(lambda since: RawNeed(since, "somebody")), max_size=4)


@given(st.integers(0, 900), st.lists(st.tuples(instants, needs), min_size=1, max_size=6))
def test_no_need_is_ever_passed_and_the_floor_never_falls(
    days: int, rounds: list[tuple[datetime, list[RawNeed]]]
) -> None:
    before: RawFloor | None = None
    for newest, wanted in rounds:
        found = next_floor(days * DAY, newest, NOW, wanted, before)
        if found.floor is None:
            continue
        assert before is None or found.floor > before.at
        assert found.floor <= min(newest, NOW) - days * DAY
        assert all(need.since is not None and found.floor <= need.since for need in wanted)
        assert (found.floor - datetime(1970, 1, 1, tzinfo=UTC)) % DAY == timedelta()
        before = RawFloor(found.floor, NOW)


@given(st.integers(0, 900), instants, needs, st.one_of(st.none(), instants.map(lambda at: RawFloor(at, NOW))))
def test_it_goes_as_far_as_it_may(days: int, newest: datetime, wanted: list[RawNeed], before: RawFloor | None) -> None:
    found = next_floor(days * DAY, newest, NOW, wanted, before).floor
    bounds = [min(newest, NOW) - days * DAY, *(need.since for need in wanted if need.since is not None)]
    far = min(bounds).replace(hour=0, minute=0)
    may = all(need.since is not None for need in wanted) and (before is None or far > before.at)
    assert found == (far if may else None)


def table(*entries: SettleEntry | BackfillEntry, whole: WholeFrom | None = None, raw: int = 99) -> Ledger:
    commits = [Logged(version, START, entry) for version, entry in enumerate(entries)]
    return fold(commits, HOUR, Reach({"t/0": raw}, ("id",)), whole)


def settling(since: int, until: int, *overtaken: int, read: int = 10) -> SettleEntry:
    return SettleEntry(
        "settle:p",
        1,
        f"{until}",
        START + since * HOUR,
        START + until * HOUR,
        {"t": ExaminedSource({"t/0": read}, ("id",))},
        content={START + hour * HOUR: Content(2, "2") for hour in range(since, until)},
        overtaken={START + hour * HOUR: {"t/0": read} for hour in overtaken},
    )


def since(ledger: Ledger) -> list[datetime | None]:
    return [need.since for need in needs_of_table("p", ledger, 3 * HOUR)]


def test_an_open_interval_needs_what_its_lookback_reads() -> None:
    assert since(table(settling(0, 8))) == [START + 5 * HOUR]


def test_a_table_that_has_not_begun_needs_all() -> None:
    assert since(table()) == [None]


def test_the_first_interval_that_awaits_its_repair_is_needed_also_before_the_raw_table_has_what_it_lacks() -> None:
    assert since(table(settling(0, 8), settling(8, 9, 2, 4, read=20))) == [START + 6 * HOUR, START - HOUR]
    assert since(table(settling(0, 8), settling(8, 9, 2, read=200))) == [START + 6 * HOUR, START - HOUR]


def test_what_is_lost_and_what_lies_below_the_floor_awaits_nothing() -> None:
    whole = WholeFrom(START + 3 * HOUR, RawFloor(START, NOW), "t_raw")
    assert since(table(settling(0, 8), settling(8, 9, 2, read=20), whole=whole)) == [START + 6 * HOUR]
    row = LedgerRow(Interval(START, START + HOUR), dirty=(f"t/0 offsets 1 to 2 {LOST}",))
    assert since(Ledger({START: row}, START + 8 * HOUR)) == [START + 5 * HOUR]


def test_what_continues_a_state_that_nobody_can_mend_awaits_nothing() -> None:
    why = "it continues the state of 2026-11-01T00:00Z, which is dirty"
    row = LedgerRow(Interval(START, START + HOUR), dirty=(why,))
    assert since(Ledger({START: row}, START + 8 * HOUR, ahead=frozenset([START]))) == [START + 5 * HOUR]
    assert since(Ledger({START: row}, START + 8 * HOUR)) == [START + 5 * HOUR, START - 3 * HOUR]


def test_a_backfill_at_work_needs_its_range() -> None:
    need = need_of_backfill("b1", Interval(START, START + DAY), 3 * HOUR)
    assert (need.since, "b1" in need.why) == (START - 3 * HOUR, True)


def test_records_are_kept_at_least_until_an_interval_is_settled_and_verified() -> None:
    assert least_retention(RULES) == (1 + 2 + 1 + 1 + 2 * 3) * HOUR
    assert least_retention(replace(RULES, sessions=True)) == (1 + 2 + 1 + 1 + 4 * 3) * HOUR


def test_sessions_are_whole_where_they_can_be_read_further_back_again_and_again() -> None:
    assert replace(RULES, sessions=True).first_whole(START) == START + 12 * HOUR


@pytest.mark.parametrize(
    ("floor", "length", "first"),
    [(0, HOUR, 3), (0.5, HOUR, 4), (0, DAY, 24), (21, DAY, 24), (21.5, DAY, 48)],
)
def test_the_first_whole_interval_reads_nothing_from_before_the_floor(
    floor: float, length: timedelta, first: int
) -> None:
    rules = SettlingRules(length, allowed_lateness=HOUR, lookback=3 * HOUR)
    found = rules.first_whole(START + floor * HOUR)
    assert found == START + first * HOUR
    assert rules.read_range(Interval(found, found + length)).start >= START + floor * HOUR


def test_of_several_sources_the_last_one_says_what_is_whole() -> None:
    floors = {"a": RawFloor(START, NOW), "b": None, "c": RawFloor(START + DAY, NOW)}
    found = whole_from(dict.fromkeys(floors, RULES), floors, {name: f"{name}_raw" for name in floors})
    assert found is not None
    assert (found.start, found.table) == (START + DAY + 3 * HOUR, "c_raw")
    assert whole_from({"b": RULES}, {"b": None}, {}) is None
