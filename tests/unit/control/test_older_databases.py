"""A control database of an older version gets today's tables and keeps what it holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine

from sluice.control.backfills import SqlBackfills
from sluice.control.database import migrate, open_database, sqlite_url, transaction
from sluice.control.index import LedgerIndex, LedgerSource
from sluice.control.tables import metadata
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request, StaticChoice
from sluice.intervals.entries import Logged
from sluice.intervals.ledger import Ledger
from sluice.intervals.reach import RawPosition, Reach
from tests.settlements import settlement
from tests.twins.clock import ManualClock

MIDNIGHT, HOUR = datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1)

# What was added after each version.
AFTER_0014 = (
    "ALTER TABLE interval ADD COLUMN watermark DATETIME",
    "ALTER TABLE interval ADD COLUMN codes TEXT",
    """UPDATE interval SET codes = '["' || code || '"]', base = replace(base, '"code":"c"', '"codes":["c"]')""",
    "ALTER TABLE interval DROP COLUMN code",
)
AFTER_0011 = (
    *AFTER_0014,
    "ALTER TABLE backfill DROP COLUMN static",
    "DROP TABLE objective_span",
    "DROP TABLE process_cost",
)


def take_back(file: Path, version: str, statements: Iterable[str]) -> None:
    """Make a database what it was in an older version."""
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.execute("UPDATE alembic_version SET version_num = ?", (version,))


def brought_up_to_date(file: Path) -> Engine:
    """Open a database as a new version does, and check that it has today's tables."""
    engine = open_database(sqlite_url(file))
    migrate(engine)
    with transaction(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    return engine


def test_backfills_of_the_first_release_computed_with_what_is_on_record(tmp_path: Path) -> None:
    file = tmp_path / "control.db"
    engine = open_database(sqlite_url(file))
    migrate(engine)
    day = Interval(MIDNIGHT, MIDNIGHT + 24 * HOUR)
    backfills = SqlBackfills(engine, "local", ManualClock())
    claimed = backfills.claim(Request("sales", day, Mode.VERIFY, by="ada"), "key", alive=lambda _: False)
    engine.dispose()
    take_back(file, "0011", AFTER_0011)

    engine = brought_up_to_date(file)
    found = SqlBackfills(engine, "local", ManualClock()).get(claimed.id)
    assert found == claimed
    assert found.request.static is StaticChoice.RECORDED
    engine.dispose()


def test_an_index_with_several_codes_of_an_interval_is_filled_anew_from_the_logs(tmp_path: Path) -> None:
    file = tmp_path / "control.db"
    entry = settlement(MIDNIGHT, MIDNIGHT + 3 * HOUR, {MIDNIGHT: 2}, read={"t/0": 5}, code="c")
    log = [Logged(1, MIDNIGHT, entry)]
    source = LedgerSource(
        HOUR, lambda after: [commit for commit in log if commit.version > after], lambda: RawPosition(1, Reach({}))
    )
    engine = open_database(sqlite_url(file))
    migrate(engine)
    before = LedgerIndex(engine, "local", {"sales": source}).refresh("sales").ledger
    engine.dispose()
    take_back(file, "0014", AFTER_0014)

    engine = brought_up_to_date(file)
    index = LedgerIndex(engine, "local", {"sales": source})
    assert index.ledger("sales") == Ledger()
    assert (index.overview(), index.stale({"sales": "c"})) == ({}, {"sales": 0})
    refreshed = index.refresh("sales")
    assert (refreshed.entries, refreshed.ledger) == (1, before)
    assert index.ledger("sales") == before
    engine.dispose()
