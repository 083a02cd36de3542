"""The daily upkeep forgets what is older than all windows that count it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from sluice.airflow.dags.ledger_upkeep import build_keep_ledger_dag
from sluice.capacity.costs import CostReading, Work
from sluice.clock import SystemClock
from sluice.objectives.log import Minute, ObservedSpan
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import load_catalog
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject


def test_what_outputs_were_more_than_35_days_ago_is_forgotten() -> None:
    twin = InMemoryProject(load_catalog(settings().home / "include"))
    log, now = cast(Project, twin).records.objectives(), SystemClock().now()
    for days in (36, 34):
        log.observe({"a/a": Minute.GOOD}, now - timedelta(days=days))
    task: Any = build_keep_ledger_dag().get_task("forget")
    with opened_project(twin):
        assert task.python_callable() == 1
    begin = now - timedelta(days=34)
    assert log.since(now - timedelta(days=99)) == {"a/a": [ObservedSpan(begin, begin, Minute.GOOD)]}


def test_what_was_used_more_than_400_days_ago_is_forgotten() -> None:
    twin = InMemoryProject(load_catalog(settings().home / "include"))
    costs, now = cast(Project, twin).records.costs(), SystemClock().now()
    for days in (402, 398):
        costs.observe([CostReading(f"b{days}", Work.BACKFILL, "departures", 1.0)], now - timedelta(days=days))
    task: Any = build_keep_ledger_dag().get_task("forget")
    with opened_project(twin):
        assert task.python_callable() == 1
    assert [cost.reading.run for cost in costs.since((now - timedelta(days=999)).date())] == ["b398"]
