"""The control database on SQLite and its twin behave alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.control.registry import SqlRegistry
from sluice.streams.registry import Registry
from tests.suites.registry_suite import RegistrySuite
from tests.twins.clock import ManualClock
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


class TestInMemoryRegistry(RegistrySuite):
    @pytest.fixture
    def registry(self, clock: ManualClock) -> Registry:
        return InMemoryRegistry(clock)
