"""A settled table in Delta, against the rules that the simulation's table follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Thread

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sluice.delta import settled_log
from sluice.delta.log import append_entry, read_log, try_commit
from sluice.delta.reading import read_rows
from sluice.delta.settled_log import CollectedRows, SettledLog
from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import AdvanceEntry, Content, ExaminedSource, SettleEntry, WithdrawnEntry
from sluice.intervals.ledger import fold
from sluice.intervals.reach import Reach
from sluice.settling.ports import UncertainCommitError
from sluice.settling.rules import SettlingRules
from sluice.storage.folder import Folder
from sluice.streams.position.fencing import FencedError

START = datetime(2013, 1, 7, tzinfo=UTC)
HOUR = timedelta(hours=1)
RULES = SettlingRules(HOUR, 3 * HOUR, HOUR / 4)
SCHEMA = pa.schema({"hour": pa.timestamp("us", tz="UTC"), "flights": pa.int64()})
NO_CLOCKS = ArrivalClocks()

Opened = Callable[[int], SettledLog]


def rows(*hours: int, flights: int = 1) -> pa.Table:
    return pa.table({"hour": [START + hour * HOUR for hour in hours], "flights": [flights] * len(hours)}, schema=SCHEMA)


def staged(*hours: int, flights: int = 1) -> CollectedRows:
    return CollectedRows(rows(*hours, flights=flights), {START + hour * HOUR: Content(1, "1") for hour in hours})


def entry(nonce: str, since: int, until: int, *, generation: int = 1, clocks: ArrivalClocks = NO_CLOCKS) -> SettleEntry:
    return SettleEntry(
        "settle:departures",
        generation,
        nonce,
        START + since * HOUR,
        START + until * HOUR,
        {"flights": ExaminedSource({"flights/0": 10}, ("topic0",), clocks)},
    )


@pytest.fixture
def table(place: Folder) -> Folder:
    folder = place / "departures"
    write_deltalake(str(folder), rows(), partition_by=["hour"])
    return folder


@pytest.fixture
def opened(table: Folder) -> Opened:
    def opening(generation: int) -> SettledLog:
        log = SettledLog(table, "hour", "settle:departures", generation, {"flights": RULES})
        log.open()
        return log

    return opening


def held(table: Folder) -> dict[int, int]:
    """Return the flights by the hour after START."""
    found = read_rows(table).to_pylist()
    assert len({row["hour"] for row in found}) == len(found)
    return {(row["hour"] - START) // HOUR: row["flights"] for row in found}


def test_a_settlement_replaces_its_intervals_and_nothing_else(table: Folder, opened: Opened) -> None:
    log = opened(1)
    assert log.commit(log.read(), entry("a", 0, 3), staged(0, 2))
    assert log.commit(log.read(), entry("b", 2, 4), staged(3, flights=5))
    assert held(table) == {0: 1, 3: 5}
    state = log.read()
    assert (state.settled_until, state.nonce, state.source("flights").reach) == (
        START + 4 * HOUR,
        "b",
        Reach({"flights/0": 10}, ("topic0",)),
    )


def test_intervals_without_rows_are_settled_by_a_commit_too(table: Folder, opened: Opened) -> None:
    log = opened(1)
    assert log.commit(log.read(), entry("a", 0, 3), staged())
    assert held(table) == {}
    ledger = fold(read_log(table), HOUR)
    assert (len(ledger.rows), ledger.closed_until) == (3, START + 3 * HOUR)


def test_a_commit_is_made_right_after_what_it_rests_on_or_not_at_all(table: Folder, opened: Opened) -> None:
    log = opened(1)
    state = log.read()
    append_entry(table, WithdrawnEntry(START, "ann", "wrong"))
    assert not log.commit(state, entry("a", 0, 1), staged(0))
    assert not log.commit(state, entry("a", 0, 1), staged(0))
    assert held(table) == {}
    assert log.commit(log.read(), entry("a", 0, 1), staged(0))


def test_who_was_overtaken_by_a_newer_generation_writes_nothing(table: Folder, opened: Opened) -> None:
    old = opened(1)
    state = old.read()
    opened(2)
    assert not old.commit(state, entry("a", 0, 1), staged(0))
    with pytest.raises(FencedError):
        old.read()
    with pytest.raises(FencedError):
        opened(1)
    assert held(table) == {}


def test_a_check_of_another_thread_waits_for_the_write(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(1)
    state = log.read()
    checking = Thread(target=log.check_fence, daemon=True)
    ended: list[bool] = []

    def written(delta: DeltaTable, write: Callable[[], object]) -> bool:
        checking.start()
        checking.join(0.3)
        ended.append(not checking.is_alive())
        return try_commit(delta, write)

    monkeypatch.setattr(settled_log, "try_commit", written)
    assert log.commit(state, entry("a", 0, 1), staged(0))
    assert ended == [False]
    checking.join(60)
    assert not checking.is_alive()


def test_who_does_not_know_whether_a_commit_was_made_finds_it_by_its_nonce(opened: Opened) -> None:
    log = opened(1)
    state = log.read()
    assert not log.holds(state, entry("a", 0, 1))
    assert log.commit(state, entry("a", 0, 1), staged(0))
    assert log.holds(state, entry("a", 0, 1))
    assert not log.holds(state, entry("b", 0, 1))


def test_a_write_that_fails_is_uncertain(opened: Opened) -> None:
    log = opened(1)
    state = log.read()
    unfit = CollectedRows(rows(0).append_column("flights2", pa.array(["x"])), {})
    with pytest.raises(UncertainCommitError, match="fields does not match"):
        log.commit(state, entry("a", 0, 1), unfit)
    assert not log.holds(state, entry("a", 0, 1))


def test_decisions_of_a_person_count_from_the_newest_settlement_on(table: Folder, opened: Opened) -> None:
    log = opened(1)
    far = ArrivalSpan(START + 9_000 * HOUR, START + 9_000 * HOUR)
    clocks = ArrivalClocks({"flights/0": START + 8 * HOUR}, {"flights/0": (far,)}, timedelta(hours=-2))
    assert log.commit(log.read(), entry("a", 0, 4, clocks=clocks), staged())
    assert log.read().source("flights").clocks == clocks
    append_entry(table, AdvanceEntry(far.last, "ann", "it is so"))
    assert log.read().believed_until == far.last
    append_entry(table, AdvanceEntry(None, "ann", "it is not"))
    assert log.read().unconfirmed == {}
    append_entry(table, WithdrawnEntry(START + HOUR, "ann", "wrong"))
    state = log.read()
    assert state.settled_until == START + HOUR
    assert state.source("flights").clocks.newest == START + HOUR + RULES.margin
    assert log.commit(state, entry("b", 1, 2), staged(1))
    assert log.read().believed_until is None
