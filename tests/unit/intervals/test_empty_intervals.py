"""Intervals without records are ranges: a hundred years of them cost nothing, and mean the same as one by one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.advice import advise
from sluice.intervals.backfill.repair import needed_repair
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.backfill.selection import select
from sluice.intervals.entries import (
    BackfillEntry,
    Content,
    Entry,
    Logged,
    LossyRange,
    SettleEntry,
    VerifiedEntry,
    WithdrawnEntry,
    from_json,
    to_json,
)
from sluice.intervals.ledger import Ledger, LedgerRow, State, fold
from sluice.intervals.reach import Hole
from sluice.intervals.rows import Rows
from tests.settlements import lacking, settlement

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
CODE, CENTURY = "today", 876_576


def at(hour: int) -> datetime:
    return MIDNIGHT + hour * HOUR


def settling(
    since: int,
    until: int,
    wrote: Mapping[int, int],
    *,
    end: int | None = None,
    code: str = CODE,
    lossy: tuple[LossyRange, ...] = (),
) -> SettleEntry:
    rows = {at(hour): number for hour, number in wrote.items()}
    return settlement(at(since), at(until), rows, read={"t/0": until if end is None else end}, code=code, lossy=lossy)


def marking(*hours: int, end: int) -> SettleEntry:
    return lacking(at(0), *map(at, hours), read={"t/0": end})


def withdrawing(since: int) -> WithdrawnEntry:
    return WithdrawnEntry(at(since), "ada", "one record of 2100")


def published(*hours: int, rows: int = 5, raw: int = 10**6) -> BackfillEntry:
    content = {at(hour): Content(rows, "5") for hour in hours}
    return BackfillEntry("b1", "recompute", "ada", "", {"t/0": raw}, {}, content, CODE, "passed")


def ledger_of(*entries: Entry) -> Ledger:
    return fold([Logged(version, at(version), entry) for version, entry in enumerate(entries, 1)], HOUR)


def one_by_one(ledger: Ledger) -> dict[int, LedgerRow]:
    return {(start - MIDNIGHT) // HOUR: row for start, row in ledger.rows.items()}


# A century.


def test_a_hundred_years_without_records_are_one_row_of_the_ledger() -> None:
    ledger = ledger_of(settling(0, 4, {0: 2, 2: 1}), settling(4, CENTURY, {4: 1}))
    assert [(row.interval.start, row.count) for row in ledger.spans] == [
        (at(0), 1),
        (at(1), 1),
        (at(2), 1),
        (at(3), 1),
        (at(4), 1),
        (at(5), CENTURY - 5),
    ]
    assert ledger.count(CODE)[State.CLOSED] == len(ledger.rows) == CENTURY


def test_a_hundred_years_cost_no_memory_whatever_is_asked_of_them() -> None:
    verified = VerifiedEntry("v", tuple(map(at, range(100, 124))), CODE, 9)
    entries = [settling(0, 4, {0: 2}), settling(4, CENTURY, {}), verified, marking(500_000, end=CENTURY + 1)]
    tracemalloc.start()
    try:
        ledger = ledger_of(*entries)
        assert ledger.count(CODE)[State.DIRTY] == 1
        assert needed_repair(ledger, CODE) is not None
        assert len(list(ledger.between(at(110), at(600_000)))) == 4
        assert ledger.rows[at(110)].verified_by(CODE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ledger.spans) == 7
    assert most < 1_000_000


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.CORRECT])
def test_a_backfill_of_a_day_checks_a_day_of_them(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(_: Rows) -> Iterator[datetime]:
        raise AssertionError("all of a hundred years were walked through")

    ledger = ledger_of(settling(0, 4, {0: 2}), settling(4, CENTURY, {}))
    monkeypatch.setattr(Rows, "__iter__", walked)
    request = Request("departures", Interval(at(-2), at(24)), mode, "ada", "")
    selection = select(request, ledger, HOUR, CODE)
    assert (len(selection.taken), len(selection.left)) == (24, 2)
    assert "before the stream's first rows" in next(iter(selection.left.values()))


def test_dirt_on_a_hundred_years_is_one_row_too() -> None:
    lost = LossyRange(at(1), at(CENTURY + 5), Hole("id", "t/0", 5, 9))
    ledger = ledger_of(settling(0, 1, {0: 1}), settling(1, CENTURY, {1: 1}, lossy=(lost,)))
    assert [(row.count, row.current is not None) for row in ledger.spans if row.dirty] == [
        (1, True),
        (CENTURY - 2, True),
        (5, False),
    ]


@pytest.mark.parametrize("hour", [5, 70, 1000])
def test_one_of_them_is_told_like_any_other(hour: int) -> None:
    ledger = ledger_of(settling(0, 4, {0: 2}), settling(4, 1001, {}))
    row = ledger.rows[at(hour)]
    assert (row.interval, row.count) == (Interval(at(hour), at(hour + 1)), 1)
    assert "No comparison" in advise(row, ledger.closed_until, CODE, repair=True).why
    for missing in (at(1001), at(-1), at(hour) + timedelta(minutes=1)):
        assert missing not in ledger.rows


# The same as one by one.

hours = st.integers(0, 40)
some_hours = st.sets(hours, min_size=1, max_size=5)


def settled(entries: list[Entry]) -> int:
    """Return the hour up to which a table is settled; such a history begins with the hour 2."""
    until = 2
    for entry in entries:
        if isinstance(entry, SettleEntry) and entry.settled_until is not None:
            until = (entry.settled_until - MIDNIGHT) // HOUR
        if isinstance(entry, WithdrawnEntry):
            until = min(until, (entry.since - MIDNIGHT) // HOUR)
    return until


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Draw what a settler, which goes on where the table ends, backfills and persons write."""
    entries: list[Entry] = []
    for number in range(draw(st.integers(0, 8))):
        kind, found = draw(st.sampled_from(["settle", "settle", "mark", "publish", "verify", "withdraw"])), []
        since, end = settled(entries), draw(st.integers(number, 20))
        if kind == "settle":
            until = since + draw(st.integers(0, 20))
            wrote = draw(st.dictionaries(hours, st.integers(1, 3), max_size=3))
            own = {hour: rows for hour, rows in wrote.items() if since <= hour < until}
            found = [settling(since, until, own, end=end, code=draw(st.sampled_from(["today", "yesterday"])))]
        elif kind == "mark":
            found = [replace(marking(*draw(some_hours), end=end), since=at(since), settled_until=at(since))]
        elif kind == "publish":
            found = [published(*sorted(draw(some_hours)), raw=end)]
        elif kind == "verify":
            found = [VerifiedEntry("v", tuple(map(at, sorted(draw(some_hours)))), CODE, 3)]
        else:
            found = [withdrawing(draw(hours))]
        entries += found
    return entries


@given(histories(), st.none() | hours, st.none() | hours)
def test_ranges_are_in_order_and_say_what_single_intervals_say(
    history: list[Entry], since: int | None, until: int | None
) -> None:
    ledger = ledger_of(*history)
    singles = one_by_one(ledger)
    assert all(a.interval.end <= b.interval.start for a, b in pairwise(ledger.spans))
    assert all(row.count == 1 or not row.current or not row.current.content.rows for row in ledger.spans)
    assert sum(ledger.count(CODE).values()) == len(singles) == len(ledger.rows)
    assert all(ledger.rows[at(hour)] == row for hour, row in singles.items())
    between = ledger.between(None if since is None else at(since), None if until is None else at(until))
    chosen = [hour for hour in singles if (since is None or hour >= since) and (until is None or hour < until)]
    assert [(s.interval.start - MIDNIGHT) // HOUR for row in between for s in row.each()] == chosen
    assert Rows(ledger.spans) == dict(ledger.rows) == ledger.rows


@given(histories())
def test_what_is_known_of_an_interval_does_not_depend_on_its_neighbours(history: list[Entry]) -> None:
    def narrowed(entry: Entry, hour: int) -> Entry:
        match entry:
            case SettleEntry():
                content, overtaken = (
                    {s: c for s, c in part.items() if s == at(hour)} for part in (entry.content, entry.overtaken)
                )
                return replace(entry, content=content, overtaken=overtaken)
            case VerifiedEntry():
                return replace(entry, intervals=tuple(s for s in entry.intervals if s == at(hour)))
            case BackfillEntry():
                return replace(entry, content={s: c for s, c in entry.content.items() if s == at(hour)})
        return entry

    for hour, row in one_by_one(ledger_of(*history)).items():
        assert ledger_of(*(narrowed(entry, hour) for entry in history)).rows.get(at(hour)) == row


# What is withdrawn.


def test_what_was_closed_too_early_is_open_again_and_closes_once_more() -> None:
    poisoned = [settling(0, 4, {0: 2, 3: 1}), settling(4, CENTURY, {4: 1})]
    ledger = ledger_of(*poisoned, withdrawing(5))
    assert (ledger.closed_until, len(ledger.rows)) == (at(5), 5)
    again = ledger_of(*poisoned, withdrawing(5), settling(5, 8, {6: 3}))
    assert again.closed_until == at(8)
    assert [row.current.content.rows for row in again.rows.values() if row.current] == [2, 0, 0, 1, 1, 0, 3, 0]
    assert not any(row.dirty for row in again.spans)


def test_what_was_found_dirty_stays_so_until_somebody_has_read_what_it_lacks() -> None:
    marked = [settling(0, 4, {0: 2}), settling(4, CENTURY, {}), marking(6, end=CENTURY + 1), withdrawing(5)]
    ledger = ledger_of(*marked)
    [why] = ledger.rows[at(6)].dirty
    assert "records on time came after" in why
    assert ledger.rows[at(6)].current is None
    assert needed_repair(ledger, CODE) is None
    repair = needed_repair(ledger_of(*marked, settling(5, 8, {})), CODE)
    assert repair is not None
    assert repair.range == Interval(at(6), at(7))
    assert needed_repair(ledger_of(*marked, settling(5, 8, {}, end=CENTURY + 1)), CODE) is None


def test_nothing_that_holds_rows_or_was_published_is_withdrawn() -> None:
    ledger = ledger_of(settling(0, 4, {0: 2}), settling(4, CENTURY, {9: 3}), published(7, rows=0), withdrawing(5))
    assert ledger.rows[at(7)].state(CODE) is State.PUBLISHED
    assert (ledger.rows[at(9)].current or ledger.rows[at(0)].current) == ledger.rows[at(9)].base
    assert ledger.rows[at(9)].state(CODE) is State.DIRTY
    repair = needed_repair(ledger, CODE)
    assert repair is not None
    assert [row.interval.start for row in repair.rows] == [at(9)]
    repaired = ledger_of(settling(0, 4, {0: 2}), settling(4, CENTURY, {9: 3}), withdrawing(5), published(9, rows=0))
    assert repaired.rows[at(9)].state(CODE) is State.PUBLISHED


def test_rows_beyond_what_was_withdrawn_have_one_reason_also_when_records_were_examined_since() -> None:
    withdrawn = [settling(0, 4, {0: 2}), settling(4, CENTURY, {9: 3}, end=5), withdrawing(5)]
    ledger = ledger_of(*withdrawn, settling(5, 6, {}, end=8))
    assert ledger.rows[at(9)].dirty == ("its rows lie beyond what was withdrawn: one record of 2100",)
    again = ledger_of(*withdrawn, settling(5, 12, {}, end=8))
    assert [(row.dirty, row.current.content.rows) for row in again.between(at(9), at(10)) if row.current] == [((), 0)]


def test_code_that_closed_the_future_has_no_part_in_what_closes_afterwards() -> None:
    poisoned = [settling(0, 4, {0: 2}, code="old"), settling(4, CENTURY, {}, code="old"), withdrawing(5)]
    after = ledger_of(*poisoned, settling(5, 8, {6: 1}))
    assert {after.rows[at(hour)].state(CODE) for hour in (5, 6, 7)} == {State.CLOSED}


def test_a_withdrawal_of_what_is_not_closed_changes_nothing() -> None:
    assert replace(ledger_of(settling(0, 4, {0: 2}), withdrawing(4)), version=1) == ledger_of(settling(0, 4, {0: 2}))
    assert ledger_of(withdrawing(4)).rows == {}


def test_a_withdrawal_reads_back_as_it_was_written() -> None:
    assert from_json(to_json(withdrawing(5))) == withdrawing(5)
