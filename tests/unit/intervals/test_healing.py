"""What was closed by a record from the future is found, and opened again from where nothing is written twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.entries import (
    BackfillEntry,
    Content,
    DirtyEntry,
    Entry,
    ExaminedSource,
    Logged,
    SettleEntry,
    StreamEntry,
    WithdrawnEntry,
)
from sluice.intervals.healing import Poisoned, find_poison
from sluice.intervals.ledger import fold
from sluice.project.healing import furthest
from sluice.specs.model.sources import TimeRules

HOUR = timedelta(hours=1)
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
CENTURY = 876_576
RULES = TimeRules(allowed_lateness=3 * HOUR, future_skew=HOUR)


def at(hour: int) -> datetime:
    return NOON + hour * HOUR


def closing(until: int, *wrote: int) -> StreamEntry:
    return StreamEntry(
        writer="departures:id:0",
        generation=1,
        lineage="a",
        batch_id=1,
        start={},
        end={"t/0": 1},
        watermark=at(until),
        closed_until=at(until),
        content={at(hour): Content(2, "2") for hour in wrote},
    )


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


def test_a_watermark_that_sound_records_can_have_caused_is_no_poison() -> None:
    # The newest record may be ahead by both skews, and the watermark follows it at four hours.
    assert poison_of(closing(-9, -10), closing(-3, -4)) is None
    assert poison_of(closing(-2, -4)) is not None


def test_the_intervals_that_sound_watermarks_closed_stay_closed() -> None:
    found = poison_of(closing(-9, -10), closing(-5), closing(CENTURY))
    assert found is not None
    assert (found.version, found.since, found.opened, found.beyond) == (3, at(-5), CENTURY + 5, ())


def test_what_the_poisoned_batch_wrote_stays_closed_too_or_a_stream_would_write_it_twice() -> None:
    assert since(closing(-9, -10), closing(CENTURY, -9, -2, 0)) == at(1)
    assert since(closing(CENTURY, -9)) == at(-8)


def test_what_a_repair_has_written_meanwhile_stays_closed() -> None:
    assert since(closing(-9, -10), closing(CENTURY, -9), published(-2, rows=0)) == at(-1)


def test_rows_of_the_future_are_left_to_a_repair() -> None:
    found = poison_of(closing(-9, -10), closing(CENTURY, -9, 5000))
    assert found is not None
    assert (found.since, [row.interval.start for row in found.beyond]) == (at(-8), [at(5000)])


def test_a_table_in_which_only_that_record_came_opens_from_the_beginning() -> None:
    assert since(closing(CENTURY)) == datetime(1900, 1, 1, tzinfo=UTC)
    assert since(closing(CENTURY, 5000)) == datetime(1900, 1, 1, tzinfo=UTC)


def test_what_was_withdrawn_is_not_found_again() -> None:
    assert poison_of(closing(-9, -10), closing(CENTURY), WithdrawnEntry(at(-9), "ada", "2100")) is None
    again = poison_of(closing(-9, -10), closing(CENTURY), WithdrawnEntry(at(-9), "a", ""), closing(99, -9))
    assert again is not None
    assert (again.version, again.since) == (4, at(-8))


def settling(until: int, *wrote: int, since: int = -12) -> SettleEntry:
    content = {at(hour): Content(2, "2") for hour in wrote}
    return SettleEntry(
        "settle:departures",
        1,
        f"{until}",
        at(since),
        at(until),
        {"t": ExaminedSource({"t/0": 1}, ("id",))},
        content=content,
    )


def test_a_table_that_a_person_let_be_settled_into_the_future_is_opened_too() -> None:
    assert poison_of(settling(-9, -10), settling(-3, -4, since=-9)) is None
    confirmed = settling(-9, -10), settling(CENTURY, -8, since=-9)
    found = poison_of(*confirmed)
    assert found is not None
    assert (found.version, found.watermark, found.since, found.opened) == (2, at(CENTURY), at(-7), CENTURY + 7)
    assert poison_of(*confirmed, WithdrawnEntry(found.since, "ada", "2100")) is None


def test_the_clock_may_catch_up_with_it() -> None:
    assert poison_of(closing(20, -10), now=20) is not None
    assert poison_of(closing(20, -10), now=23) is None


hours = st.integers(-30, 0)


@given(st.lists(st.tuples(hours, st.sets(hours, max_size=3)), max_size=4), st.sets(hours, max_size=4), st.booleans())
@pytest.mark.filterwarnings("ignore")
def test_a_withdrawal_opens_all_of_the_future_and_nothing_that_holds_rows(
    sound: list[tuple[int, set[int]]], written: set[int], repaired: bool
) -> None:
    entries: list[Entry] = [closing(until - 4, *wrote) for until, wrote in sorted(sound, key=lambda one: one[0])]
    entries += [closing(CENTURY, *written), *([published(-7)] if repaired else [])]
    found = poison_of(*entries)
    assert found is not None
    before = [Logged(version, at(-9), entry) for version, entry in enumerate(entries, 1)]
    healed = fold([*before, Logged(99, at(0), WithdrawnEntry(found.since, "ada", "2100"))], HOUR)
    held = {row.interval for row in fold(before, HOUR).spans if row.current and row.current.content.rows}
    assert {row.interval for row in healed.spans if row.current and row.current.content.rows} == held
    assert not any(row.dirty for row in healed.between(None, found.since) if "withdrawn" in " ".join(row.dirty))
    assert healed.closed_until is None or healed.closed_until <= max(found.since, at(1))


@pytest.mark.parametrize("position", range(11))
def test_wherever_the_record_was_each_hour_is_written_once_or_known_to_lack_records(position: int) -> None:
    """Ten hours with one record each; the record of 2100 comes before the first, between two, or after the last."""
    first = [] if position == 0 else [closing(CENTURY, *range(-10, position - 10))]
    alone = [closing(CENTURY)] if position == 0 else []
    dropped = tuple(map(at, range(position - 10, 0)))
    dirty = [DirtyEntry("departures:id:0", 1, 2, {"t/0": 11}, dropped, "dropped")] if dropped else []
    poisoned: list[Entry] = [*first, *alone, *dirty]
    found = poison_of(*poisoned)
    assert found is not None
    again = [hour for hour in range(-10, 0) if at(hour + 1) > found.since]
    epoch = replace(closing(0, *again), writer="departures:id:1", end={"t/0": 11})
    entries = [*poisoned, WithdrawnEntry(found.since, "ada", "2100"), epoch]
    ledger = fold([Logged(version, at(-9), entry) for version, entry in enumerate(entries, 1)], HOUR)
    rows = {hour: ledger.rows[at(hour)] for hour in range(-10, 0)}
    assert {hour: row.current and row.current.content.rows for hour, row in rows.items()} == dict.fromkeys(rows, 2)
    assert again == list(range(position - 10, 0)), "what was dropped is read again, and nothing that was written"
    assert ledger.closed_until == at(0)
    assert sum(row.count for row in ledger.spans) == 10
    assert {hour for hour, row in rows.items() if row.dirty} == {hour for hour in rows if at(hour) in dropped}
