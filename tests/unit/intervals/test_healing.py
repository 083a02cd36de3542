"""What was closed by a record from the future is found, and opened again from where nothing is written twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.entries import (
    BackfillEntry,
    Content,
    Entry,
    Logged,
    SettleEntry,
    WithdrawnEntry,
)
from sluice.intervals.healing import Poisoned, find_poison
from sluice.intervals.ledger import fold
from sluice.project.healing import furthest
from sluice.specs.model.sources import TimeRules
from tests.settlements import lacking, settlement

HOUR = timedelta(hours=1)
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
CENTURY = 876_576
RULES = TimeRules(allowed_lateness=3 * HOUR, future_skew=HOUR)


def at(hour: int) -> datetime:
    return NOON + hour * HOUR


def settled(*steps: tuple[int, tuple[int, ...]], since: int = -12, end: int = 1) -> list[SettleEntry]:
    """Return settlements, one after the other: until which hour, and which hours have rows."""
    entries = []
    for until, wrote in steps:
        rows = dict.fromkeys(map(at, wrote), 2)
        entries.append(settlement(at(since), at(until), rows, read={"t/0": end}))
        since = until
    return entries


def published(*hours: int, rows: int = 5) -> BackfillEntry:
    content = {at(hour): Content(rows, "5") for hour in hours}
    return BackfillEntry("b1", "recompute", "ada", "", {"t/0": 10**6}, {}, content, "code", "passed")


def poison_of(*entries: Entry, now: int = 0) -> Poisoned | None:
    commits = [Logged(version, at(-9), entry) for version, entry in enumerate(entries, 1)]
    return find_poison(commits, fold(commits, HOUR), HOUR, furthest(RULES, at(now)), at(now))


def since(*entries: Entry) -> datetime:
    found = poison_of(*entries)
    assert found is not None
    return found.since


def test_what_sound_records_can_have_settled_is_no_poison() -> None:
    # The newest record may be ahead by both skews, and what is settled follows it at four hours.
    assert poison_of(*settled((-9, (-10,)), (-3, (-4,)))) is None
    assert poison_of(*settled((-2, (-4,)))) is not None


def test_the_intervals_that_sound_records_closed_stay_closed() -> None:
    found = poison_of(*settled((-9, (-10,)), (-5, ()), (CENTURY, ())))
    assert found is not None
    assert (found.version, found.until, found.since) == (3, at(CENTURY), at(-5))
    assert (found.opened, found.beyond) == (CENTURY + 5, ())


def test_what_was_written_with_the_poison_stays_closed_too() -> None:
    assert since(*settled((-9, (-10,)), (CENTURY, (-9, -2, 0)))) == at(1)
    assert since(*settled((CENTURY, (-9,)))) == at(-8)


def test_what_a_repair_has_written_meanwhile_stays_closed() -> None:
    assert since(*settled((-9, (-10,)), (CENTURY, (-9,))), published(-2, rows=0)) == at(-1)


def test_rows_of_the_future_are_left_to_a_repair() -> None:
    found = poison_of(*settled((-9, (-10,)), (CENTURY, (-9, 5000))))
    assert found is not None
    assert (found.since, [row.interval.start for row in found.beyond]) == (at(-8), [at(5000)])


def test_a_table_in_which_only_that_record_came_opens_from_the_beginning() -> None:
    assert since(*settled((CENTURY, ()))) == datetime(1900, 1, 1, tzinfo=UTC)
    assert since(*settled((CENTURY, (5000,)))) == datetime(1900, 1, 1, tzinfo=UTC)


def test_what_was_withdrawn_is_not_found_again() -> None:
    poisoned = [*settled((-9, (-10,)), (CENTURY, ())), WithdrawnEntry(at(-9), "ada", "2100")]
    assert poison_of(*poisoned) is None
    again = poison_of(*poisoned, *settled((99, (-9,)), since=-9))
    assert again is not None
    assert (again.version, again.since) == (4, at(-8))


def test_what_was_settled_even_further_is_said_and_when_it_began() -> None:
    found = poison_of(*settled((-9, (-10,)), (90, ()), (CENTURY, ())))
    assert found is not None
    assert (found.version, found.until, found.opened) == (2, at(CENTURY), CENTURY + 9)


def test_after_a_withdrawal_only_what_is_left_of_it_was_closed_by_sound_records() -> None:
    earlier = [*settled((-5, (-10,))), WithdrawnEntry(at(-9), "ada", "wrong")]
    assert since(*earlier, *settled((CENTURY, ()), since=-9)) == at(-9)


def test_the_clock_may_catch_up_with_it() -> None:
    assert poison_of(*settled((20, (-10,))), now=20) is not None
    assert poison_of(*settled((20, (-10,))), now=23) is None


hours = st.integers(-30, 0)


@given(
    st.lists(st.tuples(hours, st.sets(hours, max_size=3)), max_size=4, unique_by=lambda one: one[0]),
    st.sets(hours, max_size=4),
    st.booleans(),
)
def test_a_withdrawal_opens_all_of_the_future_and_nothing_that_holds_rows(
    sound: list[tuple[int, set[int]]], written: set[int], repaired: bool
) -> None:
    steps, begun = [], -40
    for until, wrote in [*((until - 4, wrote) for until, wrote in sorted(sound)), (CENTURY, written)]:
        steps.append((until, tuple(hour for hour in wrote if begun <= hour < until)))
        begun = until
    entries: list[Entry] = [*settled(*steps, since=-40), *([published(-7)] if repaired else [])]
    found = poison_of(*entries)
    assert found is not None
    before = [Logged(version, at(-9), entry) for version, entry in enumerate(entries, 1)]
    healed = fold([*before, Logged(99, at(0), WithdrawnEntry(found.since, "ada", "2100"))], HOUR)
    held = {row.interval for row in fold(before, HOUR).spans if row.current and row.current.content.rows}
    assert {row.interval for row in healed.spans if row.current and row.current.content.rows} == held
    assert not any(row.dirty for row in healed.between(None, found.since) if "withdrawn" in " ".join(row.dirty))
    assert healed.closed_until is None or healed.closed_until <= max(found.since, at(1))


@pytest.mark.parametrize("position", range(11))
def test_wherever_the_record_was_each_hour_is_settled_once_from_all_of_its_records(position: int) -> None:
    """Ten hours with one record each; the record of 2100 comes before the first, between two, or after the last."""
    hours = range(-10, 0)
    before, behind = hours[:position], hours[position:]
    marks = [lacking(at(CENTURY), *map(at, behind), read={"t/0": 11})] if behind else []
    poisoned: list[Entry] = [*settled((CENTURY, tuple(before)), since=-10, end=position + 1), *marks]
    found = poison_of(*poisoned)
    assert found is not None
    again = [hour for hour in hours if at(hour + 1) > found.since]
    assert again == list(behind), "what came behind it is settled again, and nothing that holds rows"
    begin = min(again, default=0)
    entries = [*poisoned, WithdrawnEntry(found.since, "ada", "2100"), *settled((0, tuple(again)), since=begin, end=11)]
    ledger = fold([Logged(version, at(-9), entry) for version, entry in enumerate(entries, 1)], HOUR)
    rows = {hour: ledger.rows[at(hour)] for hour in hours}
    assert {hour: row.current and row.current.content.rows for hour, row in rows.items()} == dict.fromkeys(rows, 2)
    assert ledger.closed_until == at(0)
    assert sum(row.count for row in ledger.spans) == 10
    assert not any(row.dirty for row in rows.values())
