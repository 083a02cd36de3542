"""The record of results on SQLite and its twin behave alike."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from sluice.control.quality import SqlQualityResults
from sluice.quality.results import QualityResults
from tests.suites.quality_results_suite import HOUR, KEYS, QualityResultsSuite, kept, volume
from tests.twins.clock import START
from tests.twins.quality_results import InMemoryQualityResults


class TestSqliteQualityResults(QualityResultsSuite):
    @pytest.fixture
    def results(self, engine: Engine, deployment: str) -> QualityResults:
        return SqlQualityResults(engine, deployment)


class TestInMemoryQualityResults(QualityResultsSuite):
    @pytest.fixture
    def results(self) -> QualityResults:
        return InMemoryQualityResults()


def test_deployments_in_one_database_do_not_see_each_others_results(engine: Engine, deployment: str) -> None:
    local, prod = SqlQualityResults(engine, deployment), SqlQualityResults(engine, f"{deployment}-prod")
    local.keep("sales", [kept(volume(0, 7))])
    assert list(prod.of("sales", KEYS, START, START + HOUR)) == []
    prod.keep("sales", [kept(volume(0, 8))])
    assert [each.checked.value for each in local.of("sales", KEYS, START, START + HOUR)] == [7.0]
