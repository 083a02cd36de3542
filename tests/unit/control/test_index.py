"""The index of the interval ledger over logs in memory."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, func, insert, select

from sluice.control.database import transaction
from sluice.control.index import LedgerIndex, LedgerSource
from sluice.control.interval_rows import columns_of
from sluice.control.tables import interval
from sluice.errors import CorruptionError
from sluice.intervals.entries import (
    AttemptEntry,
    BackfillEntry,
    Content,
    Entry,
    Logged,
    SettleEntry,
    VerifiedEntry,
    WithdrawnEntry,
)
from sluice.intervals.ledger import State, fold
from sluice.intervals.reach import RawPosition, Reach
from tests.settlements import SETTLER, lacking, settlement

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
PIPELINE, CODE = "departures", "c1"


def hour(number: int) -> datetime:
    return MIDNIGHT + number * HOUR


def settled(since: int, until: int, wrote: Mapping[int, int], *, code: str = CODE, generation: int = 1) -> SettleEntry:
    rows, read = {hour(number): own for number, own in wrote.items()}, {"flights/0": 10 * until}
    return settlement(hour(since), hour(until), rows, read=read, code=code, generation=generation)


def published(*numbers: int, mode: str = "recompute", backfill: str = "departures-1") -> BackfillEntry:
    return BackfillEntry(
        backfill=backfill,
        mode="correct" if mode == "correct" else "recompute",
        by="ada",
        why="late records",
        raw={"flights/0": 99},
        late={hour(number): True for number in numbers},
        content={hour(number): Content(9, "63") for number in numbers},
        code=CODE,
        gate="8 of 8 hold",
    )


def dirty(*numbers: int, end: int = 40) -> SettleEntry:
    return lacking(hour(3), *map(hour, numbers), read={"flights/0": end})


def verified(*numbers: int, as_of: int) -> VerifiedEntry:
    return VerifiedEntry("departures-2", tuple(map(hour, numbers)), CODE, as_of)


class Log:
    """A table's log in memory; versions are positions."""

    def __init__(self, *entries: Entry) -> None:
        self.commits = [Logged(version, hour(version), entry) for version, entry in enumerate(entries)]
        self.raw = RawPosition(1, Reach({"flights/0": 1_000}))
        self.read_after: list[int] = []

    def after(self, version: int) -> Sequence[Logged]:
        self.read_after.append(version)
        return [commit for commit in self.commits if commit.version > version]

    def add(self, *entries: Entry) -> None:
        for entry in entries:
            self.commits.append(Logged(len(self.commits), hour(len(self.commits)), entry))

    def source(self) -> LedgerSource:
        return LedgerSource(HOUR, self.after, lambda: self.raw)


@pytest.fixture
def log() -> Log:
    return Log(AttemptEntry(SETTLER, 1), settled(0, 3, {0: 2, 2: 1}))


@pytest.fixture
def index(engine: Engine, deployment: str, log: Log) -> LedgerIndex:
    return LedgerIndex(engine, deployment, {PIPELINE: log.source()})


def test_while_tables_are_read_others_write(engine: Engine, deployment: str, log: Log) -> None:
    asked: list[str] = []

    def writing(what: str) -> None:
        with transaction(engine, write=True):  # SQLite lets one in
            asked.append(what)

    def entries(after: int) -> Sequence[Logged]:
        writing("entries")
        return log.after(after)

    def raw() -> RawPosition:
        writing("raw")
        return log.raw

    index = LedgerIndex(engine, deployment, {PIPELINE: LedgerSource(HOUR, entries, raw, lambda: writing("whole"))})
    index.refresh(PIPELINE)
    index.rebuild()
    assert asked == ["entries", "raw", "whole"] * 2


numbers = st.integers(0, 5)
histories = st.lists(
    st.one_of(
        st.builds(
            lambda bounds, wrote, code, generation: settled(
                *sorted(bounds),
                {n: rows for n, rows in wrote.items() if min(bounds) <= n < max(bounds)},
                code=code,
                generation=generation,
            ),
            st.tuples(numbers, st.integers(1, 6)),
            st.dictionaries(numbers, st.integers(1, 3), max_size=3),
            st.sampled_from(["c1", "c2"]),
            st.integers(1, 2),
        ),
        st.builds(
            lambda n, mode: published(*n, mode=mode),
            st.sets(numbers, min_size=1),
            st.sampled_from(["correct", "recompute"]),
        ),
        st.builds(lambda n, end: dirty(*n, end=end), st.sets(numbers, min_size=1), st.integers(0, 70)),
        st.builds(lambda n, as_of: verified(*n, as_of=as_of), st.sets(numbers, min_size=1), st.integers(0, 12)),
        st.builds(lambda number: WithdrawnEntry(hour(number), "ada", "wrong"), numbers),
        st.just(AttemptEntry(SETTLER, 2)),
    ),
    max_size=10,
)


@settings(max_examples=settings().max_examples // 3)  # each is several durable transactions
@given(histories, st.integers(0, 10), st.integers(0, 70))
def test_whatever_the_history_and_when_it_was_checked_the_index_is_the_fold_of_the_log(
    engine: Engine, history: list[Entry], cut: int, raw_end: int
) -> None:
    log = Log(*history[:cut])
    index = LedgerIndex(engine, f"d{uuid.uuid4().hex}", {PIPELINE: log.source()})
    index.refresh(PIPELINE)
    log.add(*history[cut:])
    log.raw = RawPosition(2, Reach({"flights/0": raw_end}))
    refreshed = index.refresh(PIPELINE)
    truth = fold(log.commits, HOUR, log.raw.reach)
    assert refreshed.ledger == index.ledger(PIPELINE) == truth
    assert index.rebuild()[0].ledger == index.ledger(PIPELINE) == truth


def test_only_entries_that_are_new_are_read_and_only_rows_that_change_are_written(index: LedgerIndex, log: Log) -> None:
    first = index.refresh(PIPELINE)
    log.add(settled(3, 4, {3: 5}))
    second = index.refresh(PIPELINE)
    third = index.refresh(PIPELINE)
    assert [(found.entries, found.changed) for found in (first, second, third)] == [(2, 3), (1, 1), (0, 0)]
    assert log.read_after == [-1, 0, 1]


def test_before_the_first_refresh_and_without_a_table_the_ledger_is_empty(engine: Engine, deployment: str) -> None:
    index = LedgerIndex(engine, deployment, {PIPELINE: Log().source()})
    assert index.ledger(PIPELINE).rows == {}
    assert index.refresh(PIPELINE).entries == 0
    assert index.ledger(PIPELINE).closed_until is None


def test_the_state_in_sql_does_not_depend_on_todays_code(
    engine: Engine, deployment: str, index: LedgerIndex, log: Log
) -> None:
    log.add(published(1), dirty(2), dirty(8))
    index.refresh(PIPELINE)
    query = select(interval.c.starts_at, interval.c.state).where(interval.c.deployment == deployment)
    with transaction(engine) as connection:
        found = {row.starts_at: row.state for row in connection.execute(query)}
    assert found == {
        hour(0): State.CLOSED,
        hour(1): State.PUBLISHED,
        hour(2): State.DIRTY,
        hour(8): State.DIRTY,
    }


def test_a_position_of_the_raw_table_that_is_older_than_the_indexed_one_leaves_no_repair_waiting(
    index: LedgerIndex, log: Log
) -> None:
    log.add(dirty(1, end=40))
    assert index.refresh(PIPELINE).ledger.ahead == frozenset()
    log.raw = RawPosition(0, Reach({"flights/0": 39}))
    assert index.refresh(PIPELINE).ledger.ahead == frozenset()


def test_what_a_dirty_interval_lacks_is_ahead_until_the_raw_table_has_it(index: LedgerIndex, log: Log) -> None:
    log.add(dirty(1, end=40))
    log.raw = RawPosition(0, Reach({"flights/0": 39}))
    assert index.refresh(PIPELINE).ledger.ahead == {hour(1)}
    log.raw = RawPosition(1, Reach({"flights/0": 40}))
    assert index.refresh(PIPELINE).ledger.ahead == frozenset()


@pytest.mark.parametrize("commits", [[], [Logged(1, hour(1), dirty(1))]], ids=["shorter", "another"])
def test_a_table_that_is_not_the_one_that_was_indexed_is_a_contradiction_until_it_is_rebuilt(
    index: LedgerIndex, log: Log, commits: list[Logged]
) -> None:
    before = index.refresh(PIPELINE).ledger
    log.commits[:] = commits
    with pytest.raises(CorruptionError, match=r"not the table that was indexed.*sluice control rebuild"):
        index.refresh(PIPELINE)
    assert index.ledger(PIPELINE) == before
    assert index.rebuild()[0].ledger == index.ledger(PIPELINE) == fold(commits, HOUR, log.raw.reach)


def test_a_log_that_cannot_be_read_leaves_the_index_as_it_was_also_on_rebuild(
    engine: Engine, deployment: str, log: Log
) -> None:
    index = LedgerIndex(engine, deployment, {PIPELINE: log.source()})
    before = index.refresh(PIPELINE).ledger

    def unreadable(_: int) -> Sequence[Logged]:
        raise CorruptionError("the log has forgotten its commits 0 to 3.")

    broken = LedgerIndex(
        engine, deployment, {PIPELINE: log.source(), "arrivals": replace(log.source(), entries=unreadable)}
    )
    with pytest.raises(CorruptionError, match="forgotten"):
        broken.rebuild()
    assert index.ledger(PIPELINE) == before


def test_a_rebuild_drops_what_no_spec_names_and_leaves_other_deployments_alone(
    engine: Engine, deployment: str, log: Log
) -> None:
    ours = LedgerIndex(engine, deployment, {PIPELINE: log.source(), "arrivals": log.source()})
    theirs = LedgerIndex(engine, f"{deployment}-prod", {PIPELINE: log.source()})
    for name in (PIPELINE, "arrivals"):
        ours.refresh(name)
    theirs.refresh(PIPELINE)
    LedgerIndex(engine, deployment, {PIPELINE: log.source()}).rebuild()
    assert ours.ledger("arrivals").rows == {}
    assert len(ours.ledger(PIPELINE).rows) == len(theirs.ledger(PIPELINE).rows) == 3


def test_intervals_of_other_code_are_counted_where_they_are_sound(index: LedgerIndex, log: Log) -> None:
    log.add(replace(published(0, 1), code="other"), dirty(2))
    index.refresh(PIPELINE)
    assert index.ledger(PIPELINE).count("other") == index.refresh(PIPELINE).ledger.count("other")
    for code in (CODE, "other", "third"):
        assert index.stale({PIPELINE: code, "unknown": code}) == {
            PIPELINE: index.ledger(PIPELINE).count(code)[State.STALE],
            "unknown": 0,
        }
    assert index.stale({PIPELINE: CODE})[PIPELINE] == 2
    assert index.stale({PIPELINE: "other"})[PIPELINE] == 0, "the only other interval is dirty"


CENTURY = 876_576


def stored(engine: Engine, deployment: str) -> int:
    with transaction(engine) as connection:
        query = select(func.count()).select_from(interval).where(interval.c.deployment == deployment)
        return connection.execute(query).scalar_one()


def test_a_hundred_years_without_records_are_one_row_and_are_counted_one_by_one(
    index: LedgerIndex, log: Log, engine: Engine, deployment: str
) -> None:
    log.raw = RawPosition(1, Reach({"flights/0": 10 * CENTURY}))
    log.add(settled(3, CENTURY, {4: 1}))
    assert index.refresh(PIPELINE).ledger == index.ledger(PIPELINE)
    assert stored(engine, deployment) == 6
    assert index.overview()[PIPELINE].counts == {State.CLOSED: CENTURY}
    assert LedgerIndex(engine, deployment, {}).overview()[PIPELINE].counts == {State.CLOSED: CENTURY}
    month = index.ledger(PIPELINE, since=hour(50_000), until=hour(50_744))
    assert month.rows[hour(50_743)].state(CODE) is State.CLOSED
    assert [row.count for row in month.spans] == [CENTURY - 5]


def test_rows_that_were_stored_one_by_one_become_ranges_with_the_next_refresh(
    index: LedgerIndex, log: Log, engine: Engine, deployment: str
) -> None:
    log.raw = RawPosition(1, Reach({"flights/0": 20_000}))
    log.add(settled(3, 2_000, {4: 1}))
    ledger = index.refresh(PIPELINE).ledger
    singles = [single for row in ledger.spans for single in row.each()]
    with transaction(engine) as connection:  # as it was done before there were ranges
        connection.execute(delete(interval).where(interval.c.deployment == deployment))
        these = {"deployment": deployment, "pipeline": PIPELINE}
        connection.execute(insert(interval), [{**these, **columns_of(row)} for row in singles])
    old = index.ledger(PIPELINE)
    assert (len(old.spans), old.rows == dict(ledger.rows)) == (2_000, True)
    assert index.overview()[PIPELINE].counts == {State.CLOSED: 2_000}
    assert index.refresh(PIPELINE).ledger == ledger == index.ledger(PIPELINE)
    assert stored(engine, deployment) == len(ledger.spans) == 6
