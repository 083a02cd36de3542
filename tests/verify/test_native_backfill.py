"""Airflow's own backfill, by REST and by its command line, on the scheduler of a private stack."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.project.project import Project
from sluice.settings import Settings
from tests.e2e.machine import Machine

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1500)]

DAG = "backfill_departures"
DEADLINE_SECONDS = 300


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("backfill") / "state")
    try:
        done = machine.sluice("demo", "--from", "2013-01-01", "--to", "2013-01-02", deadline=900)
        assert done.returncode == 0, done.stderr[-4000:]
        yield machine
    finally:
        machine.sluice("down")


@pytest.fixture(scope="module")
def project(machine: Machine) -> Project:
    return Project.open_strict(Settings(state=machine.state))


@pytest.fixture(scope="module")
def api(machine: Machine) -> httpx.Client:
    return httpx.Client(base_url=f"{machine.ask('status')['stack']['airflow']}/api/v2", timeout=120, trust_env=False)


def runs(api: httpx.Client, kind: str = "backfill") -> list[dict[str, Any]]:
    answer = api.get(f"/dags/{DAG}/dagRuns", params={"run_type": kind, "limit": 100}).raise_for_status().json()
    return [run for run in answer["dag_runs"] if run["run_type"] == kind]


def at_work(api: httpx.Client) -> bool:
    """Whether a backfill of the DAG is open; Airflow allows one, and closes it minutes after its last run."""
    found = api.get("/backfills", params={"dag_id": DAG}).raise_for_status().json()["backfills"]
    return any(backfill["completed_at"] is None for backfill in found)


def ended(run: dict[str, Any]) -> bool:
    return run["state"] in {"success", "failed"}


def of_run(project: Project, run: dict[str, Any]) -> Backfill:
    (found,) = [b for b in project.records.backfills().recent("departures") if run["dag_run_id"] in b.key]
    return found


def test_a_backfill_by_rest_is_a_run_for_the_day_with_its_mode_and_range(
    machine: Machine, project: Project, api: httpx.Client
) -> None:
    body = {
        "dag_id": DAG,
        "from_date": "2013-01-02T00:00:00Z",
        "to_date": "2013-01-03T00:00:00Z",
        "dag_run_conf": {"mode": "recompute", "reason": "Airflow's own backfill"},
        "max_active_runs": 1,
    }
    api.post("/backfills", json=body).raise_for_status()

    machine.eventually(lambda: bool(found := runs(api)) and all(map(ended, found)), DEADLINE_SECONDS)

    found = runs(api)
    assert {run["partition_key"]: run["state"] for run in found} == {"2013-01-02": "success"}
    backfill = of_run(project, found[0])
    assert backfill.state is BackfillState.DONE
    assert f"{backfill.request.range.start:%F} {backfill.request.range.end:%F}" == "2013-01-02 2013-01-03"
    assert backfill.request.mode == "recompute"


def test_a_day_that_is_not_closed_is_skipped_and_not_red(machine: Machine, api: httpx.Client) -> None:
    machine.eventually(lambda: not at_work(api), DEADLINE_SECONDS)
    before = len(runs(api))
    environment = {**os.environ, "AIRFLOW_HOME": str(machine.state / "airflow"), "SLUICE_STATE": str(machine.state)}
    command = [str(Path(sys.executable).with_name("airflow")), "backfill", "create", "--dag-id", DAG]
    days = ["--from-date", "2014-03-01", "--to-date", "2014-03-02"]
    subprocess.run([*command, *days], env=environment, check=True, timeout=120, stdout=subprocess.DEVNULL)

    machine.eventually(lambda: len(runs(api)) > before and all(map(ended, runs(api))), DEADLINE_SECONDS)

    (early,) = [run for run in runs(api) if run["partition_key"].startswith("2014")]
    tasks = api.get(f"/dags/{DAG}/dagRuns/{early['dag_run_id']}/taskInstances").raise_for_status().json()
    assert {task["task_id"]: task["state"] for task in tasks["task_instances"]} == {
        "plan": "skipped",
        "run": "skipped",
        "report": "skipped",
        "publish_asset": "skipped",
    }
