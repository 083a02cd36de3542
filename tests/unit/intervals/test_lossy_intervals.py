"""Intervals whose records are lost: marked for good, and told apart from those that a repair completes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.advice import advise
from sluice.intervals.backfill.repair import needed_repair
from sluice.intervals.entries import (
    BackfillEntry,
    Content,
    Entry,
    ExaminedSource,
    Logged,
    LossyRange,
    SettleEntry,
    from_json,
    to_json,
)
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.raw_floor import RawFloor, WholeFrom
from sluice.intervals.reach import Hole, Reach

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
HOLE = Hole("id", "t/0", 5, 9)
WHY = "t/0 offsets 5 to 8 were lost before they were read"
RAW = Reach({"t/0": 99}, ("id",))


def at(hour: int) -> datetime:
    return MIDNIGHT + hour * HOUR


def settling(since: int, until: int, *lossy: LossyRange, overtaken: int | None = None) -> SettleEntry:
    return SettleEntry(
        "settle:departures",
        1,
        f"{until}",
        at(since),
        at(until),
        {"t": ExaminedSource({"t/0": 10 * until}, ("id",))},
        content={at(hour): Content(2, "2") for hour in range(since, until)},
        overtaken={} if overtaken is None else {at(overtaken): {"t/0": 10 * until}},
        lossy=lossy,
        code="c",
    )


def recompute(*hours: int) -> BackfillEntry:
    content = {at(hour): Content(3, "3") for hour in hours}
    return BackfillEntry("b", "recompute", "ada", "", {"t/0": 99}, {}, content, "c", "passed", ("id",))


def ledger(*entries: Entry) -> Ledger:
    commits = [Logged(version, at(version), entry) for version, entry in enumerate(entries, 1)]
    return fold(commits, HOUR, RAW)


def lossy(found: Ledger) -> set[int]:
    return {(start - MIDNIGHT) // HOUR for start, row in found.rows.items() if row.lossy}


def test_they_are_marked_whether_settled_in_the_same_commit_or_later() -> None:
    first = settling(0, 3, LossyRange(at(2), at(5), HOLE))
    assert lossy(ledger(first)) == {2, 3, 4}
    found = ledger(first, settling(3, 6))
    assert lossy(found) == {2, 3, 4}
    assert found.rows[at(4)].dirty == (WHY,)
    assert found.rows[at(4)].current is not None
    assert found.closed_until == at(6)


def test_where_nothing_was_settled_yet_all_up_to_then_are() -> None:
    unsettled = SettleEntry(
        "s", 1, "n", None, None, {"t": ExaminedSource({"t/0": 9}, ("id",))}, lossy=(LossyRange(None, at(2), HOLE),)
    )
    assert lossy(ledger(unsettled)) == set()
    assert lossy(ledger(unsettled, settling(-1, 1), settling(1, 4))) == {-1, 0, 1}


def test_no_recompute_takes_the_mark_away_and_none_is_started_for_it() -> None:
    found = ledger(settling(0, 3, LossyRange(at(1), at(3), HOLE)), recompute(1, 2))
    assert lossy(found) == {1, 2}
    assert found.ahead >= {at(1)}, "a repair passes them over"
    advice = advise(found.rows[at(1)], found.closed_until, "c", repair=True)
    assert (advice.mode, advice.by_itself) == (None, False)
    assert "no recompute brings them back" in advice.why


def test_what_came_too_late_for_a_lossy_interval_is_repaired_all_the_same() -> None:
    mark = LossyRange(at(1), at(2), HOLE)
    found = ledger(settling(0, 3, mark), settling(3, 4, overtaken=1))
    assert len(found.rows[at(1)].dirty) == 2
    assert at(1) not in found.ahead
    assert ledger(settling(0, 3, mark), settling(3, 4, overtaken=1), recompute(1)).rows[at(1)].dirty == (WHY,)


def test_an_entry_keeps_them_and_one_of_before_has_none() -> None:
    entry = settling(0, 3, LossyRange(None, at(3), HOLE))
    assert from_json(to_json(entry)) == entry
    before = to_json(settling(0, 3)).replace('"lossy":[],', "")
    assert from_json(before) == settling(0, 3)


def test_an_entry_says_what_was_removed_by_its_age_and_is_read_back() -> None:
    mark = LossyRange(at(1), at(2), floor=RawFloor(at(2), at(9)))
    entry = settling(0, 3, mark)
    assert from_json(to_json(entry)) == entry
    assert mark.why == "records from before 2013-01-01 02:00 UTC were lost before they were read"
    assert lossy(ledger(entry, recompute(1))) == {1}


def test_below_the_floor_a_dirty_interval_is_known_to_stay_as_it_is() -> None:
    commits = [Logged(1, at(1), settling(0, 6)), Logged(2, at(2), settling(6, 7, overtaken=1))]
    assert fold(commits, HOUR, RAW).ahead == frozenset()
    whole = WholeFrom(at(2), RawFloor(at(2), at(9)), "t_raw")
    found = fold(commits, HOUR, RAW, whole)
    assert found.ahead == {at(1)}
    assert [found.is_whole(at(hour)) for hour in (1, 2)] == [False, True]
    assert needed_repair(found, "c") is None
    assert needed_repair(fold(commits, HOUR, RAW), "c") is not None


def test_a_range_without_rows_that_the_floor_cuts_is_two() -> None:
    empty = SettleEntry("s", 1, "n", at(0), at(6), {"t": ExaminedSource({"t/0": 9}, ("id",))})
    marks = SettleEntry(
        "s",
        1,
        "m",
        at(6),
        at(6),
        {"t": ExaminedSource({"t/0": 20}, ("id",))},
        overtaken={at(hour): {"t/0": 20} for hour in range(6)},
    )
    whole = WholeFrom(at(2), RawFloor(at(2), at(9)), "t_raw")
    found = fold([Logged(1, at(1), empty), Logged(2, at(2), marks)], HOUR, RAW, whole)
    assert [(row.interval.start, row.count) for row in found.spans] == [(at(0), 2), (at(2), 4)]
    repair = needed_repair(found, "c")
    assert repair is not None
    assert repair.range == Interval(at(2), at(6))
