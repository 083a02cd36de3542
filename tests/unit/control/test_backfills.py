"""The record of backfills on SQLite and its twin behave alike."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from sluice.control.backfills import SqlBackfills
from sluice.intervals.backfill.backfills import Backfills
from tests.suites.backfills_suite import BackfillsSuite, asking, dead, living
from tests.twins.backfills import InMemoryBackfills
from tests.twins.clock import ManualClock


class TestSqliteBackfills(BackfillsSuite):
    @pytest.fixture
    def backfills(self, engine: Engine, deployment: str, clock: ManualClock) -> Backfills:
        return SqlBackfills(engine, deployment, clock)


class TestInMemoryBackfills(BackfillsSuite):
    @pytest.fixture
    def backfills(self, clock: ManualClock) -> Backfills:
        return InMemoryBackfills(clock)


def test_deployments_in_one_database_do_not_stand_in_each_others_way(engine: Engine, deployment: str) -> None:
    local, prod = SqlBackfills(engine, deployment), SqlBackfills(engine, f"{deployment}-prod")
    local.claim(asking(), "run-1", alive=living)
    prod.claim(asking(), "run-1", alive=dead)
    assert len(local.recent()) == len(prod.recent()) == 1
