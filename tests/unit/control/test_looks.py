"""The record of looks on SQLite."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from sluice.control.looks import SqlNewestLooks
from sluice.streams.health.looks import NewestLooks
from tests.suites.looks_suite import BARE, FULL, NewestLooksSuite


class TestSqliteNewestLooks(NewestLooksSuite):
    @pytest.fixture
    def newest(self, engine: Engine, deployment: str) -> NewestLooks:
        return SqlNewestLooks(engine, deployment)


def test_deployments_in_one_database_do_not_see_each_others_looks(engine: Engine, deployment: str) -> None:
    local, prod = SqlNewestLooks(engine, deployment), SqlNewestLooks(engine, f"{deployment}-prod")
    local.keep([FULL])
    prod.keep([BARE])
    assert local.of(["flights"]) == {"flights": {"departures": FULL}}
    assert prod.of(["flights"]) == {"flights": {"raw_flights": BARE}}
