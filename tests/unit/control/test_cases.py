"""The record of cases on SQLite and its twin behave alike."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from sluice.control.cases import SqlCases
from sluice.quality.cases import Cases
from tests.suites.cases_suite import CasesSuite, opened
from tests.twins.cases import InMemoryCases


class TestSqliteCases(CasesSuite):
    @pytest.fixture
    def cases(self, engine: Engine, deployment: str) -> Cases:
        return SqlCases(engine, deployment)


class TestInMemoryCases(CasesSuite):
    @pytest.fixture
    def cases(self) -> Cases:
        return InMemoryCases()


def test_deployments_in_one_database_do_not_see_each_others_cases(engine: Engine, deployment: str) -> None:
    local, prod = SqlCases(engine, deployment), SqlCases(engine, f"{deployment}-prod")
    local.open(opened())
    assert list(prod.of()) == []
    prod.open(opened())
    assert [case.id for case in local.of()] == ["sales-1"]
