"""What the reader of a settled table makes of the table's ledger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.arrivals import ArrivalSpan
from sluice.intervals.entries import BackfillEntry, Content, Entry, Logged, SettleEntry
from sluice.intervals.ledger import Ledger, fold
from sluice.settling.rules import SettlingRules
from sluice.settling.upstream import examined_table, resting_on_dirty
from tests.settlements import lacking

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = datetime(2013, 1, 1, tzinfo=UTC)
PARTITION = "table:hours/0"
RULES = SettlingRules(DAY, timedelta())


def hour(number: int) -> datetime:
    return START + number * HOUR


def settled(first: int, last: int, rows: int = 1) -> SettleEntry:
    content = {hour(n): Content(rows, str(rows)) for n in range(first, last)}
    return SettleEntry("settle:hours", 1, f"n{first}", hour(first), hour(last), {}, content)


def published(contents: Mapping[int, int]) -> BackfillEntry:
    content = {hour(n): Content(rows, str(rows)) for n, rows in contents.items()}
    late = dict.fromkeys(content, False)
    return BackfillEntry("b", "recompute", "me", "", {"flights/0": 9}, late, content, "code", "")


def ledger(*entries: Entry) -> Ledger:
    return fold([Logged(version, START, entry) for version, entry in enumerate(entries)], HOUR)


def overtaken(
    before: Ledger, after: Ledger, until: datetime | None, rules: SettlingRules = RULES
) -> dict[datetime, int]:
    found = examined_table(before, after, {PARTITION: after.version + 1}, rules, until).overtaken
    return {start: ends[PARTITION] for start, ends in found.items()}


def test_how_far_a_table_is_settled_is_how_far_it_has_arrived() -> None:
    found = examined_table(Ledger(), ledger(settled(2, 30)), {PARTITION: 1}, RULES, None)
    assert found.spans == {PARTITION: (ArrivalSpan(hour(30), hour(30), witnessed=True),)}
    assert (found.end, found.first_event, found.lossy) == ({PARTITION: 1}, hour(2), ())
    assert RULES.complete_until(hour(30)) == hour(24)
    assert SettlingRules(DAY, timedelta(), lookahead=7 * HOUR).complete_until(hour(30)) == hour(0)


def test_a_table_without_a_settled_interval_says_nothing() -> None:
    found = examined_table(Ledger(), Ledger(), {PARTITION: 0}, RULES, None)
    assert (found.spans, found.overtaken, found.first_event) == ({}, {}, None)


def test_an_interval_with_other_rows_marks_what_rests_on_it_and_one_with_the_same_does_not() -> None:
    begun = (settled(0, 48),)
    before = ledger(*begun)
    assert overtaken(before, ledger(*begun, published({3: 1, 30: 1})), hour(48)) == {}
    assert overtaken(before, ledger(*begun, published({3: 1, 30: 2})), hour(48)) == {hour(24): 2}
    assert overtaken(before, ledger(*begun, published({3: 2, 30: 2})), hour(24)) == {hour(0): 2}
    assert overtaken(before, ledger(*begun, published({3: 2})), None) == {}


def test_what_was_changed_back_is_marked_because_a_backfill_may_have_read_it_in_between() -> None:
    begun = (settled(0, 48),)
    again = ledger(*begun, published({3: 2}), published({3: 1}))
    since = [Logged(1, START, published({3: 2})), Logged(2, START, published({3: 1}))]
    found = examined_table(ledger(*begun), again, {PARTITION: 3}, RULES, hour(48), since=since)
    assert found.overtaken == {hour(0): {PARTITION: 3}}
    same = examined_table(ledger(*begun), again, {PARTITION: 3}, RULES, hour(48), since=since[1:])
    assert same.overtaken == {}
    assert overtaken(ledger(*begun, published({3: 2})), again, hour(48)) == {hour(0): 3}


def test_a_lookback_takes_further_intervals_with_it() -> None:
    begun = (settled(0, 72),)
    back = SettlingRules(DAY, timedelta(), lookback=2 * HOUR)
    assert overtaken(ledger(*begun), ledger(*begun, published({23: 2})), hour(72), back) == {hour(0): 2, hour(24): 2}
    assert overtaken(ledger(*begun), ledger(*begun, published({21: 2})), hour(72), back) == {hour(0): 2}


@given(st.dictionaries(st.integers(0, 71), st.integers(0, 3), min_size=1), st.integers(0, 3), st.integers(0, 6))
def test_exactly_the_days_are_marked_whose_hours_have_changed(
    changes: dict[int, int], settled_days: int, back: int
) -> None:
    begun, rules = (settled(0, 72),), SettlingRules(DAY, timedelta(), lookback=back * HOUR)
    found = overtaken(ledger(*begun), ledger(*begun, published(changes)), START + settled_days * DAY, rules)
    changed = {n for n, rows in changes.items() if rows != 1}
    wanted = {
        START + day * DAY
        for day in range(settled_days)
        if any(
            rules.read_range(Interval(hour(24 * day), hour(24 * day + 24))).start <= hour(n) < hour(24 * day + 24)
            for n in changed
        )
    }
    assert found == dict.fromkeys(wanted, 2)


def test_hours_over_days_are_marked_by_the_day() -> None:
    days = fold([Logged(0, START, SettleEntry("d", 1, "n", START, START + 2 * DAY, {}, {START: Content(1, "1")}))], DAY)
    entries = [*[Logged(0, START, SettleEntry("d", 1, "n", START, START + 2 * DAY, {}, {START: Content(1, "1")}))]]
    entry = BackfillEntry("b", "recompute", "me", "", {}, {START: False}, {START: Content(2, "2")}, "code", "")
    after = fold([*entries, Logged(1, START, entry)], DAY)
    found = overtaken(days, after, START + 2 * DAY, SettlingRules(HOUR, timedelta()))
    assert sorted(found) == [hour(n) for n in range(24)]


def test_what_rests_on_dirty_intervals_is_known_as_long_as_it_does() -> None:
    dirty = lacking(hour(48), hour(30), read={"flights/0": 5})
    upstream = ledger(settled(0, 48), dirty)
    own = fold([Logged(0, START, SettleEntry("d", 1, "n", START, START + 2 * DAY, {}))], DAY)
    assert resting_on_dirty(own, upstream, RULES) == {hour(24)}
    assert resting_on_dirty(Ledger(), upstream, RULES) == frozenset()
    repaired = ledger(settled(0, 48), dirty, published({30: 1}))
    assert resting_on_dirty(own, repaired, RULES) == frozenset()
