"""The control database on SQLite and its twin behave alike."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from sluice.control.database import migrate, open_database, sqlite_url, transaction
from sluice.control.registry import SqlRegistry
from sluice.control.tables import desired_state
from sluice.streams.life.attempts import Desired, DesiredState
from sluice.streams.registry import Registry
from tests.suites.registry_suite import RegistrySuite
from tests.twins.clock import START, ManualClock
from tests.twins.registry import InMemoryRegistry


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "control.db"
    migrate(open_database(sqlite_url(path)))
    return path


class TestSqliteRegistry(RegistrySuite):
    @pytest.fixture
    def registry(self, tmp_path: Path, migrated: Path, clock: ManualClock) -> Registry:
        shutil.copy(migrated, tmp_path)
        return SqlRegistry(open_database(sqlite_url(tmp_path / migrated.name)), "local", clock)


def test_a_restored_state_lies_below_a_wish_that_came_between_the_look_and_the_record(
    tmp_path: Path, migrated: Path
) -> None:
    """On PostgreSQL a wish may be recorded while others are restored; on SQLite one waits for the other."""
    shutil.copy(migrated, tmp_path)
    engine = open_database(sqlite_url(tmp_path / migrated.name))
    registry = SqlRegistry(engine, "local", ManualClock())
    old = DesiredState("flights", Desired.RUNNING, "eve", "long ago", START)
    registry.restore_desired_states([old, replace(old, unit="taxis")])
    SqlRegistry(engine, "prod", ManualClock()).restore_desired_states([old])
    registry.set_desired_state("flights", Desired.STOPPED, by="bob", why="upgrade")
    with transaction(engine) as connection:
        rows = connection.execute(sa.select(desired_state.c.id, desired_state.c.unit, desired_state.c.deployment)).all()
    restored = sorted(tuple(row) for row in rows if row.id < 0)
    assert restored == [(-3, "flights", "prod"), (-2, "taxis", "local"), (-1, "flights", "local")]
    assert [(row.unit, row.deployment) for row in rows if row.id >= 0] == [("flights", "local")]


class TestInMemoryRegistry(RegistrySuite):
    @pytest.fixture
    def registry(self, clock: ManualClock) -> Registry:
        return InMemoryRegistry(clock)
