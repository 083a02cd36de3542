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
    NO_ROWS,
    AdvanceEntry,
    AttemptEntry,
    BackfillEntry,
    Content,
    Entry,
    Logged,
    SettleEntry,
    VerifiedEntry,
)
from sluice.intervals.ledger import Ledger, State, fold
from sluice.intervals.reach import Reach
from tests.settlements import SETTLER, content_of, lacking, settlement

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
CODE = "today"
LACKS = f"records on time came after generation 1 of {SETTLER} had settled it"


def at(hour: float) -> datetime:
    return MIDNIGHT + hour * HOUR


def logged(*entries: Entry) -> list[Logged]:
    return [Logged(version, at(1000 + version), entry) for version, entry in enumerate(entries, 1)]


def settling(
    since: int,
    until: int,
    wrote: Mapping[int, int] | None = None,
    *,
    end: int | None = None,
    topics: tuple[str, ...] = (),
    code: str = CODE,
) -> SettleEntry:
    """Return the settlement of the hours of `[since, until)`, with the number of rows of those that have any."""
    rows = {at(hour): number for hour, number in (wrote or {}).items()}
    read = {"t/0": 10 * until if end is None else end}
    return settlement(at(since), at(until), rows, read=read, topics=topics, code=code)


def marking(*hours: int, end: int = 90, topics: tuple[str, ...] = (), generation: int = 1) -> SettleEntry:
    """Return a commit that has found records of these hours in front of the offset `end`."""
    starts = [at(hour) for hour in hours]
    return lacking(at(2), *starts, read={"t/0": end}, topics=topics, generation=generation)


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


# What is settled.


def test_an_interval_is_closed_by_the_commit_that_settles_it() -> None:
    ledger = ledger_of(settling(1, 2, {1: 3}, end=25), settling(2, 3, {2: 4}, end=31))
    base = ledger.rows[at(2)].base
    assert base is not None
    assert base == ledger.rows[at(2)].current
    assert (base.owner, base.generation, base.version, base.at) == (SETTLER, 1, 2, at(1002))
    assert (base.offsets, base.code) == ({"t/0": 31}, CODE)
    assert base.content == content_of(4)
    assert ledger.closed_until == at(3)
    assert ledger.version == 2


def test_intervals_without_rows_are_closed_too_but_none_before_the_first_that_was_settled() -> None:
    ledger = ledger_of(settling(4, 8, {4: 1, 6: 1}))
    assert states(ledger) == dict.fromkeys(range(4, 8), State.CLOSED)
    empty = ledger.rows[at(5)].base
    assert empty is not None
    assert empty.content == NO_ROWS


def test_nothing_is_closed_before_anything_is_settled() -> None:
    assert ledger_of(settlement(None, None, read={"t/0": 50})) == Ledger({}, None, 1)
    assert ledger_of() == Ledger()


def test_marks_of_attempts_and_decisions_about_arrival_times_change_nothing() -> None:
    settled = settling(1, 2, {1: 1})
    others = AttemptEntry(SETTLER, 2, "new"), AdvanceEntry(at(99), "ada", ""), AdvanceEntry(None, "ada", "")
    assert ledger_of(settled, *others) == replace(ledger_of(settled), version=4)


def test_commits_of_others_change_nothing() -> None:
    ours = logged(settling(1, 2, {1: 1}))
    later = [Logged(9, at(1009), settling(2, 3, {2: 1}))]
    assert states(fold([*ours, *later], HOUR)) == {1: State.CLOSED, 2: State.CLOSED}


def test_what_is_settled_once_more_holds_what_was_settled_last_and_lacks_nothing_of_before() -> None:
    again = settling(1, 3, {2: 8}, end=90, code="new")
    ledger = ledger_of(settling(0, 3, {0: 1, 1: 1}), marking(0, 1, end=90), again)
    assert states(ledger, "new") == {0: State.DIRTY, 1: State.CLOSED, 2: State.CLOSED}
    assert [row.current.content for row in ledger.rows.values() if row.current] == [
        content_of(1),
        NO_ROWS,
        content_of(8),
    ]


days_of_rows = st.dictionaries(st.integers(0, 71), st.integers(1, 9), max_size=20)
cuts = st.sets(st.integers(1, 71), max_size=12)


def cut(history: Mapping[int, int], at_hours: Iterable[int], length: timedelta) -> list[Logged]:
    """Return three days as a settler commits them that stops before some hours."""
    hours = length // HOUR
    bounds = sorted({0, 72, *(hour // hours * hours for hour in at_hours)})
    by_interval = {since: sum(history.get(since + n, 0) for n in range(hours)) for since in range(0, 72, hours)}
    return logged(
        *(
            settling(since, until, {h: rows for h, rows in by_interval.items() if since <= h < until and rows})
            for since, until in pairwise(bounds)
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
    assert list(ledgers[0].rows) == sorted(ledgers[0].rows) == [at(h) for h in range(0, 72, length // HOUR)]
    assert sum(row.base.content.rows for row in ledgers[0].rows.values() if row.base) == sum(history.values())


@given(days_of_rows, cuts, st.sets(st.integers(0, 71)), st.integers(0, 900))
def test_how_far_the_raw_table_goes_changes_no_interval_but_what_can_be_repaired(
    history: dict[int, int], at_hours: set[int], marked: set[int], raw: int
) -> None:
    commits = [*cut(history, at_hours, HOUR), Logged(99, at(1099), marking(*marked, end=800))]
    ledger = fold(commits, HOUR, Reach({"t/0": raw}))
    assert ledger == fold(commits, HOUR)
    assert {start for start, row in ledger.rows.items() if row.dirty} == {at(hour) for hour in marked}
    assert bool(ledger.ahead) == bool(marked and raw < 800)


# A topic that was created again.

ONCE, AGAIN = ("id",), ("id", "again")


def test_what_was_read_of_the_former_topic_stays_closed_however_few_records_the_new_one_has() -> None:
    once = settling(0, 2, {0: 3, 1: 4}, end=20, topics=ONCE)
    commits = logged(once, settling(2, 3, {2: 5}, end=2, topics=AGAIN))
    ledger = fold(commits, HOUR, Reach({"t/0": 2}, ("again",)))
    assert states(ledger) == {0: State.CLOSED, 1: State.CLOSED, 2: State.CLOSED}
    assert ledger.closed_until == at(3)
    bases = [row.base.reach for row in ledger.rows.values() if row.base]
    assert bases == [Reach({"t/0": 20}, ONCE)] * 2 + [Reach({"t/0": 2}, AGAIN)]


def test_only_who_has_read_the_new_topic_repairs_what_it_made_dirty() -> None:
    once, found = settling(0, 1, {0: 3}, end=20, topics=ONCE), marking(0, end=1, topics=AGAIN)
    early, late = replace(publishing(0, raw=90), topics=ONCE), replace(publishing(0, raw=1), topics=AGAIN)
    assert ledger_of(once, found, early).rows[at(0)].dirty == (LACKS,)
    assert ledger_of(once, found, late).rows[at(0)].dirty == ()
    assert ledger_of(once, late, found).rows[at(0)].dirty == ()
    assert ledger_of(once, marking(0, end=90, topics=ONCE), late).rows[at(0)].dirty == ()


# Dirty.


def test_a_dirty_interval_is_shown_even_while_it_is_open() -> None:
    ledger = ledger_of(settling(1, 2, {1: 1}), marking(2))
    assert states(ledger) == {1: State.CLOSED, 2: State.DIRTY}
    assert ledger.rows[at(2)].base is None


@pytest.mark.parametrize("first", ["mark", "settlement"])
def test_an_interval_is_dirty_whether_the_mark_comes_before_or_after_its_settlement(first: str) -> None:
    entries = [settling(1, 2, {1: 1}), marking(1)] if first == "settlement" else [marking(1), settling(1, 2, {1: 1})]
    assert ledger_of(*entries).rows[at(1)].dirty == (LACKS,)
    assert states(ledger_of(*entries)) == {1: State.DIRTY}
    read_on = settling(1, 2, {1: 1}, end=90)
    assert states(ledger_of(*[read_on if entry.content else entry for entry in entries])) == {1: State.CLOSED}


def test_an_interval_before_the_first_that_was_settled_is_dirty_without_a_base() -> None:
    ledger = ledger_of(settling(2, 3, {2: 1}), marking(0))
    assert states(ledger) == {0: State.DIRTY, 2: State.CLOSED}
    assert ledger.rows[at(0)].base is None


def test_the_same_mark_twice_is_one_reason_and_another_one_is_a_second() -> None:
    ledger = ledger_of(settling(1, 2, {1: 1}), marking(1), marking(1), marking(1, generation=2))
    assert ledger.rows[at(1)].dirty == (LACKS, LACKS.replace("generation 1", "generation 2"))


def test_a_repair_makes_an_interval_good() -> None:
    ledger = ledger_of(settling(1, 2, {1: 1}), marking(1, end=90), publishing(1, raw=90))
    assert states(ledger) == {1: State.PUBLISHED}
    assert ledger.rows[at(1)].base == ledger.rows[at(1)].current


def test_a_repair_that_read_less_than_it_lacks_leaves_it_dirty() -> None:
    assert states(ledger_of(settling(1, 2, {1: 1}), marking(1, end=90), publishing(1, raw=89))) == {1: State.DIRTY}


def test_a_mark_that_arrives_after_the_repair_that_knows_its_records_says_nothing_new() -> None:
    known = ledger_of(settling(1, 2, {1: 1}), publishing(1, raw=90), marking(1, end=90))
    unknown = ledger_of(settling(1, 2, {1: 1}), publishing(1, raw=90), marking(1, end=91))
    assert (states(known), states(unknown)) == ({1: State.PUBLISHED}, {1: State.DIRTY})


def test_a_correction_repairs_nothing() -> None:
    assert states(ledger_of(settling(1, 2, {1: 1}), marking(1), publishing(1, mode="correct"))) == {1: State.DIRTY}


def test_a_repair_that_read_less_than_the_newest_of_two_marks_leaves_it_dirty() -> None:
    marked = [settling(0, 2, {0: 1}), *(marking(0, end=end) for end in (100, 200))]
    assert states(ledger_of(*marked, publishing(0, raw=150)))[0] is State.DIRTY
    assert states(ledger_of(*marked, publishing(0, raw=200)))[0] is State.PUBLISHED


def test_dirt_that_the_raw_table_has_not_reached_yet_is_told_apart() -> None:
    history = settling(0, 2, {0: 1}, end=80), marking(0, end=90)
    assert ledger_of(*history, raw=89).ahead == {at(0)}
    assert ledger_of(*history, raw=90).ahead == ledger_of(*history).ahead == frozenset()
    assert ledger_of(*history, publishing(0, raw=89), raw=89).ahead == {at(0)}
    assert ledger_of(*history, publishing(0, raw=90), raw=90).ahead == frozenset()


# Code.


def test_what_other_code_has_settled_is_stale() -> None:
    ledger = ledger_of(settling(1, 2, {1: 1}), settling(2, 4, {2: 1}, code="new"))
    assert [row.base.code for row in ledger.rows.values() if row.base] == [CODE, "new", "new"]
    assert states(ledger, "new") == {1: State.STALE, 2: State.CLOSED, 3: State.CLOSED}
    assert states(ledger) == {1: State.CLOSED, 2: State.STALE, 3: State.STALE}


def test_the_backfill_of_other_code_is_stale() -> None:
    ledger = ledger_of(settling(1, 2, {1: 1}), publishing(1, code="yesterday"))
    assert states(ledger) == {1: State.STALE}


# Backfills and what was verified.


def test_a_correction_becomes_the_current_writing_and_the_base_stays_the_settlers() -> None:
    row = ledger_of(settling(1, 2, {1: 1}), publishing(1, mode="correct", late=True)).rows[at(1)]
    assert row.base is not None
    assert row.current is not None
    assert (row.base.owner, row.base.late, row.current.owner, row.current.late) == (SETTLER, False, "b1", True)
    assert row.state(CODE) is State.PUBLISHED


def test_a_backfill_writes_intervals_that_the_settler_never_had() -> None:
    ledger = ledger_of(settling(5, 6, {5: 1}), publishing(2, 3))
    assert states(ledger) == {2: State.PUBLISHED, 3: State.PUBLISHED, 5: State.CLOSED}


def test_a_verification_stands_until_the_base_is_written_again() -> None:
    settled = settling(1, 2, {1: 1})
    assert ledger_of(settled, verifying(1, as_of=1)).rows[at(1)].verified_by(CODE)
    assert ledger_of(settled, verifying(1, as_of=1), publishing(1, mode="correct")).rows[at(1)].verified_by(CODE)
    for later in (publishing(1), marking(1), settling(1, 2, {1: 1})):
        assert not ledger_of(settled, verifying(1, as_of=1), later).rows[at(1)].verified_by(CODE)


def test_a_verification_of_an_older_writing_does_not_count() -> None:
    assert not ledger_of(settling(1, 2, {1: 1}), publishing(1), verifying(1, as_of=1)).rows[at(1)].verified_by(CODE)


def test_the_count_names_every_state() -> None:
    ledger = ledger_of(settling(1, 4, {1: 1, 2: 1, 3: 1}), marking(1), publishing(2))
    assert ledger.count(CODE) == {
        State.OPEN: 0,
        State.CLOSED: 1,
        State.PUBLISHED: 1,
        State.DIRTY: 1,
        State.STALE: 0,
    }
