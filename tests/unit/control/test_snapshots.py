"""The record of checks on SQLite."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, update

from sluice.control.database import transaction
from sluice.control.snapshots import SqlSnapshotStore
from sluice.control.tables import stream_snapshot
from sluice.streams.health.snapshots import SnapshotStore
from tests.suites.snapshots_suite import BARE, FULL, SnapshotStoreSuite


class TestSqliteSnapshotStore(SnapshotStoreSuite):
    @pytest.fixture
    def newest(self, engine: Engine, deployment: str) -> SnapshotStore:
        return SqlSnapshotStore(engine, deployment)


def test_deployments_in_one_database_do_not_see_each_others_looks(engine: Engine, deployment: str) -> None:
    local, prod = SqlSnapshotStore(engine, deployment), SqlSnapshotStore(engine, f"{deployment}-prod")
    local.store([FULL])
    prod.store([BARE])
    assert local.of(["flights"]) == {"flights": {"departures": FULL}}
    assert prod.of(["flights"]) == {"flights": {"raw_flights": BARE}}


def test_a_snapshot_that_another_version_wrote_counts_as_none_until_it_is_replaced(
    engine: Engine, deployment: str
) -> None:
    snapshots = SqlSnapshotStore(engine, deployment)
    snapshots.store([FULL])
    with transaction(engine, write=True) as connection:
        connection.execute(update(stream_snapshot).values(state='["OK", "as another version writes it"]'))
    assert snapshots.of(["flights"]) == {}
    snapshots.store([FULL])
    assert snapshots.of(["flights"]) == {"flights": {"departures": FULL}}
