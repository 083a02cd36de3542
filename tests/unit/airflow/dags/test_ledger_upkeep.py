"""The daily upkeep forgets what is older than all windows that count it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError

from sluice.airflow.dags.ledger_upkeep import act_on_each, build_keep_ledger_dag
from sluice.capacity.costs import CostReading, Work
from sluice.clock import SystemClock
from sluice.errors import CorruptionError, RefusedError, UnreachableError
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


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (CorruptionError("its log is damaged"), CorruptionError),
        (RefusedError("no"), CorruptionError),
        (UnreachableError("the bucket does not answer"), UnreachableError),
        (CommitFailedError("somebody else commits"), UnreachableError),
        (FileNotFoundError("part-0.parquet"), UnreachableError),
        (pa.ArrowInvalid("Parquet magic bytes not found"), UnreachableError),
    ],
)
def test_what_is_wrong_with_one_stops_no_other_and_is_final_only_if_it_is_known(
    found: Exception, said: type[Exception]
) -> None:
    seen: list[str] = []

    def act(name: str) -> None:
        seen.append(name)
        if name == "a":
            raise found

    with pytest.raises(said, match="a: "):
        act_on_each(["a", "b"], act)
    assert seen == ["a", "b"]


def test_what_a_second_try_may_find_otherwise_is_tried_again_beside_what_is_final() -> None:
    def act(name: str) -> None:
        raise {"a": CorruptionError, "b": UnreachableError}[name]("wrong")

    with pytest.raises(UnreachableError, match="a: wrong\nb: wrong"):
        act_on_each(["a", "b"], act)
