"""A batch learns whose run it is, by the ids of Airflow's provider."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import Context

from sluice.airflow.batches.lineage_parent import parent_variables
from sluice.lineage.identity import AirflowTask, parent_in

AT = datetime(2013, 1, 7, 6, tzinfo=UTC)


def context(**changes: Any) -> Context:  # noqa: ANN401 - fields of a run
    task = SimpleNamespace(dag_id="backfill_departures", task_id="run", try_number=2, map_index=None)
    run = SimpleNamespace(**{"logical_date": None, "run_after": AT, "clear_number": 1, **changes})
    return cast(Context, {"ti": task, "dag_run": run})


@pytest.fixture(autouse=True)
def _collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("OPENLINEAGE_NAMESPACE", raising=False)


@pytest.mark.parametrize("changes", [{}, {"logical_date": AT, "run_after": datetime(2020, 1, 1, tzinfo=UTC)}])
def test_the_parent_is_the_try_below_its_run(changes: dict[str, datetime]) -> None:
    expected = AirflowTask("default", "backfill_departures", "run", 2, AT, clears=1).parent
    assert parent_in(parent_variables(context(**changes))) == expected


def test_its_namespace_is_airflows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "prod")
    assert parent_variables(context())["OPENLINEAGE_PARENT_ID"].startswith("prod/backfill_departures.run/")
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__NAMESPACE", "airflows-own")
    assert parent_variables(context())["OPENLINEAGE_PARENT_ID"].startswith("airflows-own/")


def test_where_nobody_collects_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENLINEAGE_URL")
    assert parent_variables(context()) == {}
