from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.entries import (
    AttemptEntry,
    BackfillEntry,
    Content,
    DirtyEntry,
    Entry,
    Logged,
    StreamEntry,
    VerifiedEntry,
)
from sluice.intervals.ledger import Ledger, State, fold
from sluice.intervals.reach import Reach

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
WRITER, CODE = "departures:id:0", "today"


def at(hour: float) -> datetime:
    return MIDNIGHT + hour * HOUR


def logged(*entries: Entry) -> list[Logged]:
    return [Logged(version, at(1000 + version), entry) for version, entry in enumerate(entries, 1)]


def closing(until: float, content: Mapping[int, int] | None = None, *, end: int | None = None) -> StreamEntry:
    """Return a batch whose watermark reaches `until`, with the number of rows that it writes to each hour."""
    offset = int(until * 10) if end is None else end
    return StreamEntry(
        writer=WRITER,
        generation=1,
        lineage="a",
        batch_id=0,
        start={},
        end={"t/0": offset},
        watermark=at(until),
        closed_until=at(int(until)),
        code=CODE,
        content={at(hour): Content(rows, str(rows * 11)) for hour, rows in (content or {}).items()},
    )


def dropping(*hours: int, end: int = 90, why: str = "batch 7 dropped records") -> DirtyEntry:
    return DirtyEntry(WRITER, 1, 7, {"t/0": end}, tuple(at(hour) for hour in hours), why)


def publishing(
    *hours: int,
    raw: int = 90,
    mode: Literal["correct", "recompute"] = "recompute",
    code: str = CODE,
    late: bool = False,
) -> BackfillEntry:
    return BackfillEntry(
        backfill="b1",
        mode=mode,
        by="somebody",
        why="",
        raw={"t/0": raw},
        late={at(hour): late for hour in hours},
        content={at(hour): Content(5, "5") for hour in hours},
        code=code,
        gate="passed",
    )


def verifying(*hours: int, as_of: int) -> VerifiedEntry:
    return VerifiedEntry("v1", tuple(at(hour) for hour in hours), CODE, as_of)


def ledger_of(*entries: Entry, length: timedelta = HOUR, raw: int | None = None) -> Ledger:
    return fold(logged(*entries), length, None if raw is None else Reach({"t/0": raw}))


def states(ledger: Ledger, code: str = CODE) -> dict[int, State]:
    return {int((start - MIDNIGHT) / HOUR): row.state(code) for start, row in ledger.rows.items()}


# What a stream closes.


def test_an_interval_is_closed_by_the_commit_whose_watermark_passes_its_end() -> None:
    ledger = ledger_of(closing(2.5, {1: 3}, end=25), closing(3.1, {2: 4}, end=31))
    base = ledger.rows[at(2)].base
    assert base is not None
    assert base == ledger.rows[at(2)].current
    assert (base.owner, base.generation, base.version, base.at) == (WRITER, 1, 2, at(1002))
    assert (base.offsets, base.codes, base.watermark) == ({"t/0": 31}, (CODE,), at(3.1))
    assert base.content == Content(4, "44")
    assert ledger.closed_until == at(3)
    assert ledger.version == 2


def test_intervals_without_rows_close_too_but_none_before_the_first_that_has_some() -> None:
    ledger = ledger_of(closing(3), closing(8, {4: 1, 6: 1}))
    assert states(ledger) == dict.fromkeys(range(4, 8), State.CLOSED)
    empty = ledger.rows[at(5)].base
    assert empty is not None
    assert empty.content == Content(0, "0")


def test_nothing_is_closed_before_the_first_rows() -> None:
    assert ledger_of(closing(5)) == Ledger({}, None, 1)
    assert ledger_of() == Ledger()


def test_windows_shorter_than_the_interval_add_up_and_the_interval_is_open_until_its_end() -> None:
    hours = [replace(closing(h, {h - 1: h}), closed_until=at(h // 24 * 24)) for h in range(20, 26)]
    ledger = ledger_of(*hours[:4], length=DAY)
    assert ledger.rows == {}
    assert ledger.closed_until is None
    base = ledger_of(*hours, length=DAY).rows[MIDNIGHT].base
    assert base is not None
    assert base.content == Content(20 + 21 + 22 + 23 + 24, str(11 * (20 + 21 + 22 + 23 + 24)))
    assert base.version == 5


def test_commits_of_others_change_nothing() -> None:
    ours = logged(closing(2, {1: 1}))
    later = [Logged(9, at(1009), closing(3, {2: 1}))]
    assert states(fold([*ours, *later], HOUR)) == {1: State.CLOSED, 2: State.CLOSED}


days_of_rows = st.dictionaries(st.integers(0, 60), st.integers(1, 9), max_size=20)
cuts = st.sets(st.integers(1, 60), max_size=12)


def cut(history: Mapping[int, int], at_hours: Iterable[int], length: timedelta) -> list[Logged]:
    hours = length // HOUR
    bounds = [0, *sorted(at_hours), 61]
    return logged(
        *(
            replace(
                closing(end, {h: rows for h, rows in history.items() if since <= h < end}),
                closed_until=at(end // hours * hours),
            )
            for since, end in pairwise(bounds)
        )
    )


@given(days_of_rows, cuts, cuts, st.sampled_from([HOUR, DAY]))
def test_however_a_history_is_cut_into_commits_the_ledger_says_the_same(
    history: dict[int, int], one: set[int], other: set[int], length: timedelta
) -> None:
    ledgers = [fold(cut(history, at_hours, length), length) for at_hours in (one, other)]
    said = [
        ({s: (row.base and row.base.content, row.state(CODE)) for s, row in ledger.rows.items()}, ledger.closed_until)
        for ledger in ledgers
    ]
    assert said[0] == said[1]
    assert list(ledgers[0].rows) == sorted(ledgers[0].rows)
    whole = {start for start in history if at(start) < at(61 // (length // HOUR) * (length // HOUR))}
    assert sum(row.base.content.rows for row in ledgers[0].rows.values() if row.base) == sum(history[h] for h in whole)


@given(days_of_rows, cuts, st.integers(0, 700))
def test_what_the_raw_table_lags_behind_closes_later_and_no_other_way(
    history: dict[int, int], at_hours: set[int], raw: int
) -> None:
    commits = cut(history, at_hours, HOUR)
    whole, settled = fold(commits, HOUR), fold(commits, HOUR, Reach({"t/0": raw}))
    covered = [c for c in commits if isinstance(c.entry, StreamEntry) and c.entry.end["t/0"] <= raw]
    assert settled == replace(fold(covered, HOUR), version=whole.version)
    assert settled.rows.items() <= whole.rows.items()


# A topic that was created again.

AGAIN = "departures:again:1"


def reading_again(until: float, content: Mapping[int, int] | None = None, *, end: int) -> StreamEntry:
    """Return a batch of the stream after its reset, whose offsets count in the new topic."""
    return replace(closing(until, content, end=end), writer=AGAIN)


def test_what_was_read_of_the_former_topic_stays_closed_however_few_records_the_new_one_has() -> None:
    commits = logged(closing(2, {0: 3, 1: 4}, end=20), reading_again(3, {2: 5}, end=2), reading_again(4, end=4))
    ledger = fold(commits, HOUR, Reach({"t/0": 2}, ("again",)))
    assert states(ledger) == {0: State.CLOSED, 1: State.CLOSED, 2: State.CLOSED}
    assert ledger.closed_until == at(3), "what follows in the new topic waits for the raw table as ever"
    bases = [row.base.reach for row in ledger.rows.values() if row.base]
    assert bases == [Reach({"t/0": 20}, ("id",))] * 2 + [Reach({"t/0": 2}, ("id", "again"))]


def test_until_the_raw_table_reads_the_new_topic_nothing_is_closed_that_comes_from_it() -> None:
    commits = logged(closing(2, {0: 3, 1: 4}, end=20), reading_again(3, {2: 5}, end=2))
    assert fold(commits, HOUR, Reach({"t/0": 99}, ("id",))).closed_until == at(2)
    assert fold(commits, HOUR, Reach({"t/0": 2}, ("again",))).closed_until == at(3)


def test_only_who_has_read_the_new_topic_repairs_what_it_made_dirty() -> None:
    dropped = replace(dropping(0, end=1), writer=AGAIN)
    before = [closing(1, {0: 3}, end=20), dropped]
    early, late = replace(publishing(0, raw=90), topics=("id",)), replace(publishing(0, raw=1), topics=("id", "again"))
    assert ledger_of(*before, early).rows[at(0)].dirty == (dropped.why,)
    assert ledger_of(*before, late).rows[at(0)].dirty == ()
    assert ledger_of(closing(1, {0: 3}, end=20), late, dropped).rows[at(0)].dirty == ()
    assert ledger_of(closing(1, {0: 3}, end=20), dropping(0, end=90), late).rows[at(0)].dirty == ()


# How far the raw table is.


def test_an_interval_that_the_raw_table_lags_behind_is_open() -> None:
    entries = (closing(2, {1: 1}, end=20), closing(3, {2: 1}, end=30))
    assert (states(ledger_of(*entries, raw=29)), ledger_of(*entries, raw=29).closed_until) == ({1: State.CLOSED}, at(2))
    assert states(ledger_of(*entries, raw=30)) == {1: State.CLOSED, 2: State.CLOSED}


def test_what_closes_after_a_batch_that_the_raw_table_lags_behind_is_open_too() -> None:
    read_again = replace(closing(4, {3: 1}, end=30), lineage="b")  # a new lineage cuts its batches otherwise
    ledger = ledger_of(closing(2, {1: 1}, end=20), closing(3, {2: 1}, end=40), read_again, raw=30)
    assert (states(ledger), ledger.closed_until) == ({1: State.CLOSED}, at(2))


def test_a_dirty_interval_is_shown_even_while_it_is_open() -> None:
    ledger = ledger_of(closing(2, {1: 1}, end=20), closing(3, {2: 1}, end=30), dropping(2), raw=20)
    assert states(ledger) == {1: State.CLOSED, 2: State.DIRTY}
    assert ledger.rows[at(2)].base is None


# Dirty.


@pytest.mark.parametrize("first", ["mark", "close"])
def test_an_interval_is_dirty_whether_the_drop_is_noted_before_or_after_it_closes(first: str) -> None:
    entries = [closing(2, {1: 1}), dropping(1)] if first == "close" else [dropping(1), closing(2, {1: 1})]
    assert ledger_of(*entries).rows[at(1)].dirty == ("batch 7 dropped records",)
    assert states(ledger_of(*entries)) == {1: State.DIRTY}


def test_an_interval_of_which_every_record_was_dropped_is_dirty_without_a_base() -> None:
    ledger = ledger_of(closing(3, {2: 1}), dropping(0))
    assert states(ledger) == {0: State.DIRTY, 2: State.CLOSED}
    assert ledger.rows[at(0)].base is None


def test_the_same_mark_twice_is_one_reason_and_another_one_is_a_second() -> None:
    ledger = ledger_of(closing(2, {1: 1}), dropping(1), dropping(1), dropping(1, why="batch 9 too"))
    assert ledger.rows[at(1)].dirty == ("batch 7 dropped records", "batch 9 too")


def test_a_repair_makes_an_interval_good() -> None:
    ledger = ledger_of(closing(2, {1: 1}), dropping(1, end=90), publishing(1, raw=90))
    assert states(ledger) == {1: State.PUBLISHED}
    assert ledger.rows[at(1)].base == ledger.rows[at(1)].current


def test_a_repair_that_read_less_than_was_dropped_leaves_it_dirty() -> None:
    assert states(ledger_of(closing(2, {1: 1}), dropping(1, end=90), publishing(1, raw=89))) == {1: State.DIRTY}


def test_a_mark_that_arrives_after_the_repair_that_knows_its_records_says_nothing_new() -> None:
    known = ledger_of(closing(2, {1: 1}), publishing(1, raw=90), dropping(1, end=90))
    unknown = ledger_of(closing(2, {1: 1}), publishing(1, raw=90), dropping(1, end=91))
    assert (states(known), states(unknown)) == ({1: State.PUBLISHED}, {1: State.DIRTY})


def test_a_correction_repairs_nothing() -> None:
    assert states(ledger_of(closing(2, {1: 1}), dropping(1), publishing(1, mode="correct"))) == {1: State.DIRTY}


def test_a_stream_that_writes_to_a_closed_interval_makes_it_dirty() -> None:
    ledger = ledger_of(closing(3, {1: 1, 2: 1}), closing(4, {1: 1, 3: 1}))
    assert states(ledger) == {1: State.DIRTY, 2: State.CLOSED, 3: State.CLOSED}
    assert "after it was closed" in ledger.rows[at(1)].dirty[0]


def test_a_repair_that_read_less_than_the_newest_of_two_late_writings_leaves_it_dirty() -> None:
    late = [closing(3, {0: 1}, end=end) for end in (100, 200)]
    ledger = ledger_of(closing(2, {0: 1}), *late, publishing(0, raw=150))
    assert states(ledger)[0] is State.DIRTY
    assert states(ledger_of(closing(2, {0: 1}), *late, publishing(0, raw=200)))[0] is State.PUBLISHED


def test_dirt_that_the_raw_table_has_not_reached_yet_is_told_apart() -> None:
    history = closing(2, {0: 1}, end=80), dropping(0, end=90)
    assert ledger_of(*history, raw=89).ahead == {at(0)}
    assert ledger_of(*history, raw=90).ahead == ledger_of(*history).ahead == frozenset()
    assert ledger_of(*history, publishing(0, raw=89), raw=89).ahead == {at(0)}
    assert ledger_of(*history, publishing(0, raw=90), raw=90).ahead == frozenset()


def test_what_a_lineage_may_know_in_part_is_dirty_and_what_came_later_is_not() -> None:
    suspect = replace(closing(5, {2: 1, 3: 1, 4: 1}), lineage="b", origin={"t/0": 50}, suspect_until=at(3))
    ledger = ledger_of(closing(2, {1: 1}), suspect)
    assert states(ledger) == {1: State.CLOSED, 2: State.DIRTY, 3: State.DIRTY, 4: State.CLOSED}
    assert states(ledger_of(closing(2, {1: 1}), suspect, publishing(2, 3, raw=50))) == {
        1: State.CLOSED,
        2: State.PUBLISHED,
        3: State.PUBLISHED,
        4: State.CLOSED,
    }


# Code.


def test_intervals_open_across_an_upgrade_carry_both_hashes() -> None:
    upgrade = AttemptEntry(WRITER, 2, "new", replaced=CODE, mixed_until=at(3.5))
    after = [replace(closing(h + 1, {h: 1}), code="new") for h in range(2, 6)]
    ledger = ledger_of(closing(2, {1: 1}), upgrade, *after)
    codes = {int((s - MIDNIGHT) / HOUR): row.base.codes for s, row in ledger.rows.items() if row.base}
    assert codes == {1: (CODE,), 2: (CODE, "new"), 3: (CODE, "new"), 4: ("new",), 5: ("new",)}
    assert states(ledger, "new") == {
        **dict.fromkeys((1, 2, 3), State.STALE),
        **dict.fromkeys((4, 5), State.CLOSED),
    }


def test_an_event_on_the_boundary_makes_the_interval_that_starts_there_mixed() -> None:
    upgrade = AttemptEntry(WRITER, 2, "new", replaced=CODE, mixed_until=at(3))
    ledger = ledger_of(upgrade, *(replace(closing(h + 1, {h: 1}), code="new") for h in (3, 4)))
    assert [row.base.codes for row in ledger.rows.values() if row.base] == [(CODE, "new"), ("new",)]


def test_code_that_ended_where_an_interval_begins_has_no_part_in_it() -> None:
    ledger = ledger_of(closing(2, {1: 1}), replace(closing(3, {2: 1}), code="new"))
    assert [row.base.codes for row in ledger.rows.values() if row.base] == [(CODE,), ("new",)]


def test_an_upgrade_and_back_leaves_what_was_open_stale() -> None:
    there = AttemptEntry(WRITER, 2, "new", replaced=CODE, mixed_until=at(2.5))
    back = AttemptEntry(WRITER, 3, CODE, replaced="new", mixed_until=at(2.5))
    ledger = ledger_of(closing(2, {1: 1}), there, back, closing(3, {2: 1}), closing(4, {3: 1}))
    assert states(ledger) == {1: State.CLOSED, 2: State.STALE, 3: State.CLOSED}


def test_an_interval_whose_windows_two_codes_closed_carries_both_even_if_the_state_began_anew() -> None:
    first = replace(closing(10, {9: 1}), closed_until=MIDNIGHT)
    second = replace(closing(26, {20: 1, 25: 1}), closed_until=at(24), code="new", lineage="b")
    third = replace(closing(49, {30: 1}), closed_until=at(48), code="new", lineage="b")
    ledger = ledger_of(first, second, third, length=DAY)
    assert [row.base.codes for row in ledger.rows.values() if row.base] == [(CODE, "new"), ("new",)]


def test_the_backfill_of_other_code_is_stale() -> None:
    ledger = ledger_of(closing(2, {1: 1}), publishing(1, code="yesterday"))
    assert states(ledger) == {1: State.STALE}


# Backfills and what was verified.


def test_a_correction_becomes_the_current_writing_and_the_base_stays_the_streams() -> None:
    row = ledger_of(closing(2, {1: 1}), publishing(1, mode="correct", late=True)).rows[at(1)]
    assert row.base is not None
    assert row.current is not None
    assert (row.base.owner, row.base.late, row.current.owner, row.current.late) == (WRITER, False, "b1", True)
    assert row.state(CODE) is State.PUBLISHED


def test_a_backfill_writes_intervals_that_the_stream_never_had() -> None:
    ledger = ledger_of(closing(6, {5: 1}), publishing(2, 3))
    assert states(ledger) == {2: State.PUBLISHED, 3: State.PUBLISHED, 5: State.CLOSED}


def test_a_verification_stands_until_the_base_is_written_again() -> None:
    stream = closing(2, {1: 1})
    assert ledger_of(stream, verifying(1, as_of=1)).rows[at(1)].verified_by(CODE)
    assert ledger_of(stream, verifying(1, as_of=1), publishing(1, mode="correct")).rows[at(1)].verified_by(CODE)
    for later in (publishing(1), dropping(1)):
        assert not ledger_of(stream, verifying(1, as_of=1), later).rows[at(1)].verified_by(CODE)


def test_a_verification_of_an_older_writing_does_not_count() -> None:
    assert not ledger_of(closing(2, {1: 1}), publishing(1), verifying(1, as_of=1)).rows[at(1)].verified_by(CODE)


def test_the_count_names_every_state() -> None:
    ledger = ledger_of(closing(4, {1: 1, 2: 1, 3: 1}), dropping(1), publishing(2))
    assert ledger.count(CODE) == {
        State.OPEN: 0,
        State.CLOSED: 1,
        State.PUBLISHED: 1,
        State.DIRTY: 1,
        State.STALE: 0,
    }
