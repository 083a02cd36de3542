"""Intervals whose records are lost: marked for good, and told apart from those that a repair completes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sluice.intervals.backfill.advice import advise
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
