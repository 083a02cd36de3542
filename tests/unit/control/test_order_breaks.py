"""The record of growths on SQLite and its twin behave alike."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from sluice.control.order_breaks import SqlOrderBreaks
from sluice.provisioning.growth.order_break import OrderBreaks
from tests.suites.order_breaks_suite import INTENT, OrderBreaksSuite
from tests.twins.order_breaks import InMemoryOrderBreaks


class TestSqliteOrderBreaks(OrderBreaksSuite):
    @pytest.fixture
    def breaks(self, engine: Engine, deployment: str) -> OrderBreaks:
        return SqlOrderBreaks(engine, deployment)


class TestInMemoryOrderBreaks(OrderBreaksSuite):
    @pytest.fixture
    def breaks(self) -> OrderBreaks:
        return InMemoryOrderBreaks()


def test_deployments_in_one_database_do_not_see_each_others_growths(engine: Engine, deployment: str) -> None:
    local, prod = SqlOrderBreaks(engine, deployment), SqlOrderBreaks(engine, f"{deployment}-prod")
    local.intend(INTENT)
    assert list(prod.of("flights")) == []
    prod.intend(INTENT)
    assert list(local.of("flights")) == list(prod.of("flights")) == [INTENT]
