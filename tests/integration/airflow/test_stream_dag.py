"""The streams' DAGs, run by Airflow, with the real control database, the real launcher and a driver of four lines."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.models.dagrun import DagRun
from airflow.sdk import DagRunState
from airflow.serialization.encoders import encode_timetable
from airflow.utils.session import create_session
from airflow.utils.types import DagRunType

from sluice.airflow.dags.reconciler import build_reconcile_dag
from sluice.airflow.dags.streams import build_stream_dag
from sluice.airflow.streams.stream_tasks import request_of
from sluice.project.project import Project
from sluice.specs.load import scan
from sluice.specs.units import DeclaredUnit, declared_units
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import AttemptState, Desired
from sluice.streams.life.governor import Rest
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import ManualClock
from tests.waiting import eventually

DEADLINE_SECONDS = 120.0

pytestmark = pytest.mark.usefixtures("airflow_database")


@pytest.fixture
def unit(project: Project) -> DeclaredUnit:
    include = project.settings.home / "include"
    return declared_units(scan(include), include)["flights"]


def run(unit: DeclaredUnit, limit: timedelta = timedelta(0), **conf: str) -> tuple[str, dict[str, str]]:
    """Return the run's state and each task's."""
    dag_run = build_stream_dag(unit, limit=limit).test(run_conf=conf)
    return dag_run.state, {task.task_id: str(task.state) for task in dag_run.get_task_instances()}


def observe(project: Project) -> UnitStatus:
    return project.streams.life("flights").observe()


def test_a_driver_outlives_its_run_is_adopted_by_the_next_and_ends_with_a_stop(
    project: Project, unit: DeclaredUnit
) -> None:
    state, _ = run(unit, reason="launch")
    first = observe(project)
    assert state == DagRunState.SUCCESS
    assert first.alive
    assert first.desired is not None
    assert (first.desired.state, first.desired.why) == (Desired.RUNNING, "launch")

    state, _ = run(unit)
    second = observe(project)
    assert state == DagRunState.SUCCESS
    assert second.attempt == first.attempt
    assert second.report == first.report

    state, tasks = run(unit, action="stop", reason="upgrade")
    stopped = observe(project)
    assert state == DagRunState.SUCCESS
    assert tasks == {"claim": "success", "submit": "skipped", "watch": "skipped", "follow": "skipped"}
    assert not stopped.alive
    assert stopped.desired is not None
    assert stopped.desired.state is Desired.STOPPED


def test_a_restart_gives_the_next_generation(project: Project, unit: DeclaredUnit) -> None:
    run(unit)
    state, _ = run(unit, action="restart")

    restarted = observe(project)
    assert state == DagRunState.SUCCESS
    assert restarted.alive
    assert restarted.attempt is not None
    assert restarted.attempt.generation == 2


def test_a_watch_is_red_when_the_driver_is_killed_and_the_next_run_is_asked_for(
    project: Project, unit: DeclaredUnit
) -> None:
    forget_runs()

    def kill_the_driver() -> None:
        def pid() -> int | None:  # it is known a moment after the driver lives
            report = observe(project).report
            return report.pid if report is not None else None

        eventually(lambda: pid() is not None)
        os.kill(pid() or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill_the_driver)
    killer.start()
    state, tasks = run(unit, limit=timedelta(minutes=2))
    killer.join()

    assert state == DagRunState.FAILED
    assert tasks == {"claim": "success", "submit": "success", "watch": "failed", "follow": "success"}
    assert [run.run_id for run in queued_runs()] == ["follow__local.flights.g1"]


def test_the_run_of_a_broken_unit_adopts_and_watches_and_starts_nothing(project: Project, unit: DeclaredUnit) -> None:
    broken = DeclaredUnit(unit.unit, faults=("include/pipelines/departures.yaml:4: source: ...",))

    state, tasks = run(broken)
    assert state == DagRunState.FAILED
    assert tasks["claim"] == "failed"
    assert not observe(project).alive

    run(unit)
    state, tasks = run(broken)
    assert state == DagRunState.SUCCESS
    assert tasks == {"claim": "success", "submit": "success", "watch": "success", "follow": "skipped"}


def test_the_reconciler_starts_what_died_by_one_run_and_never_piles_up(project: Project, unit: DeclaredUnit) -> None:
    forget_runs()
    run(unit)
    attempt = observe(project).attempt
    assert attempt is not None
    project.processes.launcher().kill(attempt.key)
    later = ManualClock(datetime.now(UTC) + timedelta(hours=1))  # every backoff is over

    first = build_reconcile_dag(clock=later).test()
    second = build_reconcile_dag(clock=later).test()

    assert triggered(first) == ["success"]
    assert triggered(second) == ["skipped"]


def test_the_reconciler_tells_once_of_what_became_halted_while_no_run_watched(
    project: Project, unit: DeclaredUnit
) -> None:
    forget_runs()
    (project.settings.home / "spark_jobs" / "stream.py").write_text("raise SystemExit(12)", encoding="utf-8")
    project.streams.life("flights").start("ada", "launch")
    eventually(lambda: project.streams.life("flights").record_end().halted(datetime.now(UTC)) != "")

    first = build_reconcile_dag().test()
    assert triggered(first) == ["success"]
    assert [run.run_id for run in queued_runs()] == ["halted__local.flights.g1"]
    forget_runs()

    state, tasks = run(unit, action="follow", reason="what the reconciler triggers")
    assert (state, tasks["claim"]) == (DagRunState.FAILED, "failed")
    assert triggered(build_reconcile_dag().test()) == ["skipped"]  # the alert about that run is on record
    assert not observe(project).alive


def queued_runs() -> list[DagRun]:
    return list(DagRun.find(dag_id="stream_flights", state=DagRunState.QUEUED))


def forget_runs() -> None:
    """Leave no run of an earlier test that would be waited for: some are killed in the middle on purpose."""
    with create_session() as session:
        for active in (*queued_runs(), *DagRun.find(dag_id="stream_flights", state=DagRunState.RUNNING)):
            session.delete(session.merge(active))


def test_a_control_database_of_yesterday_is_brought_up_to_date_and_nothing_starts_twice(
    project: Project, unit: DeclaredUnit, tmp_path: Path
) -> None:
    forget_runs()
    run(unit)
    control, yesterday = project.settings.folder.control, tmp_path / "yesterday.db"
    copy_database(control, yesterday)
    for _ in range(2):
        run(unit, action="restart")
    newest = observe(project)
    copy_database(yesterday, control)
    forgetful = observe(project)
    assert forgetful.attempt is not None
    assert (forgetful.attempt.generation, forgetful.alive) == (1, False)

    assert triggered(build_reconcile_dag().test()) == ["success"]
    state, _ = run(unit, action="follow", reason="what the reconciler triggers")

    assert state == DagRunState.SUCCESS
    found = observe(project)
    assert found.report == newest.report
    ends = [(a.generation, a.state, a.exit_code) for a in project.records.registry().attempts("flights")]
    ended = AttemptState.ENDED
    assert ends == [(3, AttemptState.BOUND, None), (2, ended, 0), (1, ended, 0)]
    assert sorted(folder.name for folder in project.folder.drivers.iterdir()) == [
        f"local.flights.g{generation}" for generation in (1, 2, 3)
    ]


def copy_database(source: Path, target: Path) -> None:
    """Put all of a SQLite database into another one, as a backup and its restoration do."""
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)


def test_the_reconciler_leaves_alone_what_nobody_asked_for(project: Project) -> None:
    assert observe(project).desired is None

    assert triggered(build_reconcile_dag().test()) == ["skipped"]


def triggered(dag_run: DagRun) -> list[str]:
    return [str(task.state) for task in dag_run.get_task_instances() if task.task_id == "trigger"]


@pytest.fixture
def hourly(project: Project) -> DeclaredUnit:
    """A unit that runs each hour, whose drivers read nothing and end as its schedule says."""
    home = project.settings.home
    spec = home / "include" / "pipelines" / "departures.yaml"
    text = spec.read_text().replace("keep: open", "keep: all").replace("trigger: 2 seconds", "schedule: '@hourly'")
    spec.write_text(text)
    (home / "spark_jobs" / "stream.py").write_text("raise SystemExit(23)\n", encoding="utf-8")
    return declared_units(scan(home / "include"), home / "include")["flights"]


def test_the_dag_of_a_unit_with_a_schedule_has_it_and_no_other_has_one(hourly: DeclaredUnit) -> None:
    dag = build_stream_dag(hourly)
    encoded = str(encode_timetable(dag.schedule))
    assert "CronTrigger" in encoded
    assert "'0 * * * *'" in encoded
    assert "started by the schedule `0 * * * *` (UTC)" in (dag.doc_md or "")
    assert dag.params["action"] == "start"
    others = DeclaredUnit(hourly.unit.__class__("other", (), ()))
    assert "CronTrigger" not in str(build_stream_dag(others).schedule)


def test_a_run_is_green_when_its_driver_has_read_what_was_there_and_nothing_follows(
    project: Project, hourly: DeclaredUnit
) -> None:
    forget_runs()
    dag_run = build_stream_dag(hourly, limit=timedelta(minutes=2)).test(run_conf={"reason": "the first"})
    tasks = {task.task_id: str(task.state) for task in dag_run.get_task_instances()}
    assert (dag_run.state, tasks["watch"], tasks["follow"]) == (DagRunState.SUCCESS, "success", "skipped")
    life = Project.open_strict(project.settings).streams.life("flights")
    eventually(lambda: life.record_end().ended)
    status = life.observe()
    assert status.attempt is not None
    assert status.attempt.failure is FailureClass.COMPLETED
    assert isinstance(status.outlook(status.attempt.intended_at + timedelta(seconds=1)), Rest)


def test_airflow_calls_a_run_of_a_schedule_as_the_claim_expects() -> None:
    class Made:
        """A run that Airflow's scheduler has made."""

        triggering_user_name = None
        run_id = "scheduled__1"
        run_type = DagRunType.SCHEDULED

    form = {"action": "start", "reason": "-", "deadline_seconds": 60}
    assert request_of("flights", form, Made(), ()).asked.value == "scheduled"
