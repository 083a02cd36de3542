"""A control database of an older version gets today's tables and keeps what it holds."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from sluice.control.backfills import SqlBackfills
from sluice.control.database import migrate, open_database, sqlite_url, transaction
from sluice.control.tables import metadata
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request, StaticChoice
from tests.twins.clock import ManualClock


def test_backfills_of_the_first_release_computed_with_what_is_on_record(tmp_path: Path) -> None:
    file = tmp_path / "control.db"
    engine = open_database(sqlite_url(file))
    migrate(engine)
    day = Interval(datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 2, tzinfo=UTC))
    backfills = SqlBackfills(engine, "local", ManualClock())
    claimed = backfills.claim(Request("sales", day, Mode.VERIFY, by="ada"), "key", alive=lambda _: False)
    engine.dispose()
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE backfill DROP COLUMN static")
        connection.execute("DROP TABLE objective_span")
        connection.execute("DROP TABLE process_cost")
        connection.execute("UPDATE alembic_version SET version_num = '0011'")

    engine = open_database(sqlite_url(file))
    migrate(engine)

    with transaction(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    found = SqlBackfills(engine, "local", ManualClock()).get(claimed.id)
    assert found == claimed
    assert found.request.static is StaticChoice.RECORDED
    engine.dispose()
