"""What tests of the control database share: one migrated SQLite file, in which each test is a deployment of its own."""

from __future__ import annotations

import uuid

import pytest
from sqlalchemy import Engine

from sluice.control.database import migrate, open_database, sqlite_url


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    engine = open_database(sqlite_url(tmp_path_factory.mktemp("control") / "control.db"))
    migrate(engine)
    return engine


@pytest.fixture
def deployment() -> str:
    return f"d{uuid.uuid4().hex[:12]}"
