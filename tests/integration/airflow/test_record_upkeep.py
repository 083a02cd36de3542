"""The DAG `remove_old_records`, run by Airflow on real folders."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.sdk import DagRunState

from sluice.airflow.dags.record_upkeep import RUNS_DAYS, build_remove_old_records_dag, remove_old_records
from sluice.launch.run_folders import KEPT
from sluice.project.project import Project

pytestmark = pytest.mark.usefixtures("airflow_database")


def age(path: Path, days: int) -> None:
    at = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    os.utime(path, (at, at))


def ended(folder: Path, days: int) -> Path:
    folder.mkdir(parents=True)
    (folder / "batch.log").write_text("x")
    for path in (folder / "batch.log", folder):
        age(path, days)
    return folder


def test_a_run_removes_what_is_old_and_nothing_else(project: Project) -> None:
    backfills, drivers = project.folder.backfills, project.folder.drivers
    old = [ended(backfills / f"departures-20130101T{n:06}-aaaa", RUNS_DAYS + 1 + n) for n in range(KEPT + 2)]
    other = ended(backfills / "arrivals-20130101T000000-aaaa", 2 * RUNS_DAYS)
    stages = [ended(project.folder.staging / path.name, RUNS_DAYS + 1) for path in old]
    proofs = [
        ended(project.folder.proofs / f"departures-20130101T{n:06}-0000abcd", RUNS_DAYS + 1 + n)
        for n in range(KEPT + 1)
    ]
    attempt = ended(drivers / "local.flights.g1", 2 * RUNS_DAYS)

    dag_run = build_remove_old_records_dag().test()

    assert dag_run.state == DagRunState.SUCCESS
    assert [path.exists() for path in old] == [True] * KEPT + [False] * 2
    assert [path.exists() for path in proofs] == [True] * KEPT + [False]
    assert other.exists()
    assert attempt.exists()
    assert sum(path.exists() for path in stages) == KEPT
    assert remove_old_records(project, datetime.now(UTC)) == {
        "drivers": 0,
        "backfills": 0,
        "proofs": 0,
        "staging": 0,
    }
