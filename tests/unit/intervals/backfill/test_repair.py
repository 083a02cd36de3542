"""When dirty intervals are repaired without being asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.repair import Decision, Repair, decide, needed_repair, run_id
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.backfill.selection import MAX_INTERVALS
from sluice.intervals.entries import BackfillEntry, Content, Entry, Logged, WithdrawnEntry
from sluice.intervals.ledger import Ledger, LedgerRow, Written, fold
from sluice.intervals.rows import INHERITED, REOPENED
from tests.settlements import lacking, settlement

DAY = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def row(hour: int, *dirty: str, version: int = 1) -> LedgerRow:
    start = DAY + hour * HOUR
    written = Written("departures", 1, version, NOW, {"flights/0": 9}, "code", Content(1, "1"))
    return LedgerRow(Interval(start, start + HOUR), written, written, dirty)


def ledger(*rows: LedgerRow, closed: int = 24) -> Ledger:
    return Ledger({found.interval.start: found for found in rows}, DAY + closed * HOUR, version=7)


def needed(*rows: LedgerRow, code: str = "code") -> Repair:
    repair = needed_repair(ledger(*rows), code)
    assert repair is not None
    return repair


def decision(
    repair: Repair | None,
    *,
    wanted: bool = True,
    most: int = 1_000,
    active_runs: int = 0,
    at_work: tuple[Backfill, ...] = (),
    tried: bool = False,
) -> Decision:
    return decide(repair, wanted=wanted, most=most, active_runs=active_runs, at_work=at_work, tried=tried)


def working_on(first: int, last: int) -> Backfill:
    asked = Request("departures", Interval(DAY + first * HOUR, DAY + last * HOUR), Mode.VERIFY, "ada")
    return Backfill("departures-1", "key", asked, BackfillState.RUNNING, NOW)


def test_more_than_the_spec_lets_be_repaired_waits_for_a_person() -> None:
    repair = needed(*(row(hour, "dropped") for hour in range(1, 5)))
    assert decision(repair, most=4).start
    held = decision(repair, most=3)
    assert not held.start
    assert "dirty closed intervals: 4" in held.why
    assert "more than the 3 that are repaired without being asked (`backfill.repair_most`)" in held.why


def test_a_repair_reaches_from_the_first_to_the_last_dirty_interval() -> None:
    repair = needed(row(1), row(3, "dropped"), row(4), row(6, "dropped"), row(7))

    assert repair.range == Interval(DAY + 3 * HOUR, DAY + 7 * HOUR)
    assert repair.why == "repair of 2013-01-01T03:00Z and 1 more: dropped"


def test_nothing_is_repaired_where_nothing_is_dirty() -> None:
    assert needed_repair(ledger(row(1), row(2)), "code") is None
    assert not decision(None).start


def test_a_dirty_interval_that_is_open_waits_until_it_closes() -> None:
    unwritten = replace(row(5, "dropped"), base=None, current=None)
    assert needed_repair(ledger(unwritten, closed=5), "code") is None
    assert needed_repair(ledger(unwritten, closed=6), "code") is not None


def test_what_holds_rows_beyond_what_is_closed_is_repaired_too() -> None:
    assert needed_repair(ledger(row(5, "its rows lie beyond what was withdrawn"), closed=5), "code") is not None


def test_what_a_withdrawal_left_in_the_future_is_repaired_once_and_then_waits_until_it_is_settled() -> None:
    future = DAY + 43_800 * HOUR
    entries: list[Entry] = [
        settlement(DAY, future + HOUR, {DAY: 2, future: 1}, read={"t/0": 9}),
        WithdrawnEntry(DAY + HOUR, "ada", "2018"),
    ]

    def found() -> Repair | None:
        return needed_repair(fold([Logged(n, NOW, entry) for n, entry in enumerate(entries, 1)], HOUR), "code")

    first = found()
    assert first is not None
    assert first.range == Interval(future, future + HOUR)
    content = {future: Content(1, "1")}
    entries.append(BackfillEntry("b1", "recompute", "ada", "", {"t/0": 9}, {}, content, "code", "passed"))
    assert found() is None
    entries.append(settlement(DAY + HOUR, DAY + 2 * HOUR, {}, read={"t/0": 12}))
    assert found() is None
    entries.append(lacking(DAY + 2 * HOUR, DAY, read={"t/0": 13}))
    repair = found()
    assert repair is not None
    assert repair.range == Interval(DAY, DAY + HOUR), "no repair of another interval reaches as far"


def test_what_is_open_again_is_repaired_for_any_other_reason() -> None:
    inherited = f"{INHERITED} 2013-01-01T04:00Z, which was computed again since"
    for dirty in ((REOPENED,), (inherited,), (REOPENED, inherited)):
        assert needed_repair(ledger(row(5, *dirty), closed=5), "code") is None
        assert needed_repair(ledger(row(5, *dirty), closed=6), "code") is not None
    assert needed_repair(ledger(row(5, REOPENED, "dropped"), closed=5), "code") is not None


def test_a_repair_checks_no_more_intervals_than_a_backfill_does() -> None:
    first, century = row(1, "dropped"), 876_600
    far = replace(row(3, "dropped"), interval=Interval(DAY + 3 * HOUR, DAY + (3 + century) * HOUR), count=century)
    repair = needed_repair(ledger(first, far, closed=2 * century), "code")
    assert repair is not None
    assert repair.range == Interval(DAY + HOUR, DAY + (1 + MAX_INTERVALS) * HOUR)
    assert repair.why == "repair of 2013-01-01T01:00Z and 99,998 more: dropped"


def test_a_dirty_interval_waits_until_the_raw_table_holds_what_it_lacks() -> None:
    dirty = row(3, "dropped"), row(5, "dropped")
    found = needed_repair(replace(ledger(*dirty), ahead=frozenset({DAY + 3 * HOUR})), "code")
    assert found is not None
    assert found.rows == dirty[1:]
    assert needed_repair(replace(ledger(dirty[0]), ahead=frozenset({DAY + 3 * HOUR})), "code") is None


def test_a_dirty_interval_starts_a_repair() -> None:
    found = decision(needed(row(3, "dropped")))

    assert found.start
    assert found.why == "dirty closed intervals: 1, the first at 2013-01-01T03:00Z"


def test_a_spec_may_refuse_repairs() -> None:
    found = decision(needed(row(3, "dropped")), wanted=False)

    assert not found.start
    assert "repair: false" in found.why


def test_no_repair_starts_beside_a_run_of_the_same_dag() -> None:
    assert not decision(needed(row(3, "dropped")), active_runs=1).start


def test_no_repair_starts_on_a_range_that_a_backfill_works_on() -> None:
    repair = needed(row(3, "dropped"))

    beside, before = decision(repair, at_work=(working_on(0, 4),)), decision(repair, at_work=(working_on(0, 3),))

    assert not beside.start
    assert "departures-1" in beside.why
    assert before.start


def test_what_failed_today_is_tried_again_tomorrow() -> None:
    repair = needed(row(3, "dropped"))

    assert not decision(repair, tried=True).start
    assert "tomorrow" in decision(repair, tried=True).why
    assert run_id(repair, NOW) == run_id(repair, NOW + timedelta(hours=11))
    assert run_id(repair, NOW) != run_id(repair, NOW + timedelta(days=1))


def test_what_failed_is_tried_at_once_when_anything_about_it_changes() -> None:
    before = needed(row(3, "dropped"))
    changed = [
        needed(row(3, "dropped"), code="fixed"),
        needed(row(3, "dropped", "dropped more")),
        needed(row(3, "dropped", version=2)),
        needed(row(3, "dropped"), row(9, "dropped")),
    ]

    assert len({run_id(repair, NOW) for repair in (before, *changed)}) == 5


@given(st.sets(st.integers(0, 23)), st.integers(1, 10_000))
def test_what_happens_to_healthy_intervals_changes_no_repair(healthy: set[int], version: int) -> None:
    dirty = [row(3, "dropped"), row(20, "dropped")]
    others = [row(hour, version=version) for hour in healthy - {3, 20}]

    one = needed_repair(ledger(*dirty), "code")
    other = needed_repair(replace(ledger(*dirty, *others), version=version), "code")

    assert one is not None
    assert one == other
