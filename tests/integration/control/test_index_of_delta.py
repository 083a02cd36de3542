"""The index over real Delta logs, also after Delta has forgotten their beginning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.control.index import LedgerIndex, LedgerSource
from sluice.delta.log import append_entry, archive_log, read_log
from sluice.errors import CorruptionError
from sluice.intervals.entries import SettleEntry
from sluice.intervals.ledger import State
from sluice.intervals.reach import RawPosition, Reach
from tests.settlements import lacking, settlement

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)


def settled(until: int) -> SettleEntry:
    """Return the settlement of the hour that ends then."""
    start = MIDNIGHT + (until - 1) * HOUR
    return settlement(start, start + HOUR, {start: 1}, read={"flights/0": until}, code="c1")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve commits of a settler, one foreign commit among them, and one that marks an interval dirty."""
    table = tmp_path / "departures"
    write_deltalake(str(table), pa.table({"n": [0]}), configuration={"delta.logRetentionDuration": "interval 0 days"})
    for until in range(1, 13):
        append_entry(table, settled(until))
    write_deltalake(str(table), pa.table({"n": [1]}), mode="append")
    append_entry(table, lacking(MIDNIGHT + 12 * HOUR, MIDNIGHT + 2 * HOUR, read={"flights/0": 13}))
    return table


@pytest.fixture
def index(tmp_path: Path, table: Path) -> LedgerIndex:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    source = LedgerSource(
        HOUR, lambda after: read_log(table, after=after), lambda: RawPosition(1, Reach({"flights/0": 99}))
    )
    return LedgerIndex(engine, "local", {"departures": source})


def forget(table: Path) -> None:
    """Let Delta drop the commits before a checkpoint, as it does after 30 days."""
    delta = DeltaTable(str(table))
    delta.create_checkpoint()
    delta.cleanup_metadata()
    assert not (table / "_delta_log" / f"{0:020}.json").exists()


def test_a_rebuild_gives_the_same_rows_also_when_delta_forgot_the_commits_that_were_kept(
    index: LedgerIndex, table: Path
) -> None:
    before = index.refresh("departures").ledger
    assert before.count("c1") == {State.OPEN: 0, State.CLOSED: 11, State.PUBLISHED: 0, State.DIRTY: 1, State.STALE: 0}
    archive_log(table)
    forget(table)
    append_entry(table, settled(13))
    after = index.refresh("departures").ledger
    assert len(after.rows) == 13
    [rebuilt] = index.rebuild()
    assert rebuilt.ledger == index.ledger("departures") == after
    assert {start: after.rows[start] for start in before.rows} == before.rows


def test_a_log_that_delta_forgot_and_nobody_kept_is_a_loud_contradiction_and_the_index_stays(
    index: LedgerIndex, table: Path
) -> None:
    before = index.refresh("departures").ledger
    forget(table)
    append_entry(table, settled(13))
    with pytest.raises(CorruptionError, match="has forgotten its commits 0 to"):
        index.rebuild()
    assert index.ledger("departures") == before


def test_a_damaged_entry_is_a_contradiction_and_the_index_stays(index: LedgerIndex, table: Path) -> None:
    before = index.refresh("departures").ledger
    damaged = CommitProperties(custom_metadata={"userMetadata": '{"sluice":2,"kind":"settle","writer":7}'})
    write_deltalake(str(table), pa.table({"n": [2]}), mode="append", commit_properties=damaged)
    with pytest.raises(CorruptionError, match="ledger entry cannot be read"):
        index.refresh("departures")
    assert index.ledger("departures") == before
