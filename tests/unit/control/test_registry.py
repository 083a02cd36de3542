"""The control database on SQLite and its twin behave alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.control.registry import SqlRegistry
from sluice.streams.registry import Registry
from tests.twins.clock import ManualClock
from tests.twins.registry import InMemoryRegistry
from tests.twins.registry_suite import RegistrySuite


class TestSqliteRegistry(RegistrySuite):
    @pytest.fixture
    def registry(self, tmp_path: Path, clock: ManualClock) -> Registry:
        engine = open_database(sqlite_url(tmp_path / "control.db"))
        migrate(engine)
        return SqlRegistry(engine, "local", clock)


class TestInMemoryRegistry(RegistrySuite):
    @pytest.fixture
    def registry(self, clock: ManualClock) -> Registry:
        return InMemoryRegistry(clock)
