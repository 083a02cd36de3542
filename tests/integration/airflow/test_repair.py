"""Dirty intervals are repaired without being asked, by runs of the backfill DAG."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session

from sluice.airflow.dags.repair import build_repair_dag, needed_repairs
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request
from sluice.project.project import Project
from tests.integration.airflow.spark import DAY, HOUR, Spark, close, fake_spark, soil

pytestmark = pytest.mark.usefixtures("airflow_database")

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def spark(project: Project, monkeypatch: pytest.MonkeyPatch) -> Spark:
    return fake_spark(project, monkeypatch, os.environ["PATH"])


@pytest.fixture(autouse=True)
def _no_runs() -> None:
    """Each test begins without runs of the backfill DAG: an earlier test's may be queued for ever."""
    with create_session() as session:
        session.query(DagRun).filter(DagRun.dag_id == "backfill_departures").delete()


class Runs:
    """Counts the runs that a test says there are."""

    def __init__(self, active: int = 0, tried: int = 0) -> None:
        self.active, self.tried = active, tried

    def __call__(self, *, dag_id: str, states: list[str] | None = None, run_ids: list[str] | None = None) -> int:
        assert dag_id == "backfill_departures"
        assert states or run_ids
        return self.active if states else self.tried


def triggered() -> list[DagRun]:
    with create_session() as session:
        found = session.query(DagRun).filter(DagRun.dag_id == "backfill_departures")
        return [run for run in found if run.run_id.startswith("repair__")]


def state_of_trigger(dag_run: DagRun) -> list[str]:
    return [str(task.state) for task in dag_run.get_task_instances() if task.task_id == "trigger"]


def test_dirty_intervals_start_one_run_that_recomputes_only_them(project: Project) -> None:
    close(project)
    soil(project, 3, 5)

    first = build_repair_dag().test()
    second = build_repair_dag().test()

    assert state_of_trigger(first) == ["success"]
    assert state_of_trigger(second) == ["skipped"]
    (run,) = triggered()
    assert run.conf == {
        "from": "2013-01-01T03:00:00+00:00",
        "to": "2013-01-01T06:00:00+00:00",
        "mode": "recompute",
        "only": "dirty",
        "reason": "repair of 2013-01-01T03:00Z and 1 more: "
        "records on time came after generation 1 of settle:departures had settled it",
    }


def test_a_clean_ledger_starts_nothing(project: Project) -> None:
    close(project)

    assert state_of_trigger(build_repair_dag().test()) == ["skipped"]
    assert triggered() == []


def test_an_interval_that_is_dirty_and_open_waits(project: Project) -> None:
    close(project, until=DAY + 4 * HOUR)
    soil(project, 4)

    assert needed_repairs(project, Runs(), NOW) == []


@pytest.mark.parametrize(
    ("runs", "why"), [(Runs(active=1), "at work or queued"), (Runs(tried=1), "tried today without success")]
)
def test_the_log_says_why_nothing_is_started(
    project: Project, caplog: pytest.LogCaptureFixture, runs: Runs, why: str
) -> None:
    caplog.set_level("INFO")
    close(project)
    soil(project, 3)

    assert needed_repairs(project, runs, NOW) == []
    assert why in caplog.text


def test_a_living_backfill_on_the_range_is_waited_for_and_a_dead_one_is_not(project: Project) -> None:
    close(project)
    soil(project, 3)
    asked = Request("departures", Interval(DAY, DAY + 4 * HOUR), Mode.VERIFY, "ada")
    found = project.records.backfills().claim(asked, "ada's", alive=lambda _: False)
    lock = project.processes.backfill_lock(found.id)

    lock.take()
    assert needed_repairs(project, Runs(), NOW) == []

    lock.release()
    assert [pipeline for pipeline, _ in needed_repairs(project, Runs(), NOW)] == ["departures"]


def test_a_ledger_that_cannot_be_read_is_left_alone_and_said(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    close(project)
    soil(project, 3)
    for commit in (project.folder.table("departures") / "_delta_log").glob("*2.json"):
        text = commit.read_text(encoding="utf-8")
        commit.write_text(text.replace('\\"kind\\":\\"settle\\"', '\\"kind\\":\\"soiled\\"'), encoding="utf-8")

    assert needed_repairs(project, Runs(), NOW) == []
    assert "departures: not observed, so nothing is done" in caplog.text
