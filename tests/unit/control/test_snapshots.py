"""The record of looks on SQLite."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from sluice.control.snapshots import SqlSnapshotStore
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
