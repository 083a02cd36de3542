"""The backfill DAG, run by Airflow, with the real ledger and control database, and a `spark-submit` of our own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.models.asset import AssetEvent
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import DagRunState
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.utils.session import create_session

from sluice.airflow.batches.backfill_tasks import BackfillOperator
from sluice.airflow.dags.backfills import build_backfill_dag
from sluice.airflow.links import ParityLink, QualityLink
from sluice.errors import SluiceError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode, Request
from sluice.project.project import Project
from sluice.settings import settings
from tests.integration.airflow.spark import DAY, HOUR, Spark, close, fake_spark
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("airflow_database")

NEVER_BEGAN = "its process ended before it claimed its range"
WEEK: dict[str, Any] = {"from": "2013-01-01", "to": "2013-01-02", "mode": "verify"}


@pytest.fixture
def spark(project: Project, monkeypatch: pytest.MonkeyPatch) -> Spark:
    return fake_spark(project, monkeypatch, os.environ["PATH"])


def run(project: Project, **conf: Any) -> tuple[str, dict[str, TaskInstance]]:  # noqa: ANN401 - JSON
    """Return the run's state and its tasks."""
    dag = build_backfill_dag(project.catalog.pipelines["departures"])
    for task in dag.tasks:
        task.retries = 0  # a test waits for no second try
    dag_run = dag.test(run_conf={**WEEK, **conf})
    return dag_run.state, {task.task_id: task for task in dag_run.get_task_instances()}


def states(tasks: dict[str, TaskInstance]) -> dict[str, str]:
    return {name: str(task.state) for name, task in tasks.items()}


def publishes() -> list[dict[str, Any]]:
    with create_session() as session:
        return [event.extra for event in session.query(AssetEvent).order_by(AssetEvent.id)]


def test_a_run_plans_submits_one_application_and_reports(project: Project, spark: Spark) -> None:
    close(project)
    events = len(publishes())

    state, tasks = run(project, reason="does the week agree?")

    assert state == DagRunState.SUCCESS
    options = spark.options()
    assert options.pop("key").startswith("backfill_departures/manual__")
    assert options.pop("by").startswith("dag_test (Airflow run manual__")
    assert options.pop("accepts") == ""
    assert options.pop("static") == "recorded"
    assert options == {
        "pipeline": "departures",
        "from": "2013-01-01T00:00:00+00:00",
        "to": "2013-01-03T00:00:00+00:00",
        "mode": "verify",
        "only": "all",
        "why": "does the week agree?",
    }
    found = project.records.backfills().recent("departures")[0]
    assert tasks["report"].xcom_pull("report")["backfill"] == found.id
    assert len(publishes()) == events, "a verify publishes nothing"


def test_what_spark_is_started_with(project: Project, spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    close(project)
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD", "a secret of Airflow's")
    monkeypatch.setenv("SLUICE_STACK", "the stack's mark")
    monkeypatch.setenv("SLUICE_BATCH_NICENESS", "19")
    settings.cache_clear()

    run(project)

    arguments, environment = spark.call["arguments"], spark.call["environment"]
    assert arguments[:2] == ["--master", "local[1]"]
    assert "spark.driver.memory=700m" in arguments
    assert any(argument.startswith("spark.jars=") and "delta-spark" in argument for argument in arguments)
    assert arguments[arguments.index("backfill") - 1] == str(project.settings.home / "spark_jobs" / "batch.py")
    assert not any("pyFiles" in argument or argument == "--py-files" for argument in arguments)
    assert not any(name.startswith("AIRFLOW") for name in environment)
    assert environment["SLUICE_STATE"] == str(project.settings.state)
    assert environment["SLUICE_STACK"] == "the stack's mark"
    assert spark.call["niceness"] == 19, "streams on this machine go first"


def test_a_publish_is_told_to_other_dags_with_its_range(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(published=3)

    state, tasks = run(project, mode="correct")

    assert state == DagRunState.SUCCESS
    assert tasks["report"].xcom_pull("report")["published"] == 3
    assert publishes()[-1] == {
        "backfill": project.records.backfills().recent("departures")[0].id,
        "from": "2013-01-01T00:00:00+00:00",
        "to": "2013-01-01T03:00:00+00:00",
    }


@pytest.mark.verify
def test_what_a_run_published_before_it_failed_is_told_too(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(published=2, exit=1, say="the quality gate failed.")

    state, tasks = run(project, mode="correct")

    assert state == DagRunState.FAILED
    assert states(tasks) == {
        "plan": "success",
        "run": "failed",
        "report": "upstream_failed",
        "publish_asset": "success",
    }
    assert publishes()[-1]["to"] == "2013-01-01T02:00:00+00:00"


def test_a_dry_run_plans_and_runs_nothing(project: Project, spark: Spark) -> None:
    close(project, until=DAY + timedelta(hours=30))

    state, tasks = run(project, dry_run=True)

    assert state == DagRunState.SUCCESS
    assert states(tasks) == {"plan": "success", "run": "skipped", "report": "skipped", "publish_asset": "skipped"}
    planned = tasks["plan"].xcom_pull("plan", key="plan")
    assert planned["intervals"] == 30
    assert planned["ranges"] == ["2013-01-01T00:00Z to 2013-01-02T06:00Z"]
    assert planned["left"] == ["18 intervals: open: the stream may still write it"]
    assert not spark.was_called


def test_a_form_with_nothing_to_do_is_red_and_says_why(
    project: Project, spark: Spark, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    state, tasks = run(project)

    assert state == DagRunState.FAILED
    assert states(tasks) == {
        "plan": "failed",
        "run": "upstream_failed",
        "report": "upstream_failed",
        "publish_asset": "skipped",
    }
    assert "48 intervals: open: the stream may still write it" in caplog.text + capsys.readouterr().out
    assert not spark.was_called


def test_a_wrong_form_is_red_with_all_its_faults(
    project: Project, spark: Spark, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    close(project)

    state, _ = run(project, **{"from": "2013-01-03", "to": "2013-01-01", "only": "dirty"})

    said = caplog.text + capsys.readouterr().out
    assert state == DagRunState.FAILED
    assert "is empty: the instant `to` is not in it" in said
    assert "`only: dirty` needs `mode: recompute`" in said
    assert not spark.was_called


def test_a_range_that_another_backfill_works_on_is_refused_with_its_id(
    project: Project, spark: Spark, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    close(project)
    other = Request("departures", Interval(DAY + HOUR, DAY + 2 * HOUR), Mode.VERIFY, "bob")
    claimed = project.records.backfills().claim(other, "bob's", alive=lambda _: False)
    lock = project.processes.backfill_lock(claimed.id)
    lock.take()

    state, _ = run(project)
    assert state == DagRunState.FAILED
    assert f"the backfill {claimed.id} works on" in caplog.text + capsys.readouterr().out
    assert not spark.was_called

    lock.release()
    assert run(project)[0] == DagRunState.SUCCESS, "its process is dead"
    assert project.records.backfills().get(claimed.id).state is BackfillState.FAILED


# The operator alone


class Claims:
    """A task instance that answers with a plan."""

    def xcom_pull(self, task_ids: str) -> dict[str, str]:
        assert task_ids == "plan"
        return {
            "from": "2013-01-01T00:00:00+00:00",
            "to": "2013-01-03T00:00:00+00:00",
            "mode": "verify",
            "only": "all",
            "by": "ada",
            "why": "",
            "key": "backfill_departures/r1",
        }


class ItsRun:
    """The run of that task instance."""

    dag_id, run_id, run_type, triggering_user_name, partition_key = "backfill_departures", "r1", "manual", "ada", None


CONTEXT: Any = {"ti": Claims(), "dag_run": ItsRun()}


def operator() -> BackfillOperator:
    return BackfillOperator(task_id="run", pipeline="departures")


@pytest.mark.verify
def test_what_the_main_judged_fails_at_once_in_its_own_words(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(exit=1, say="the gate failed: 'EWR' is no airport. Fix: see quality.html.", claims_nothing=True)

    with pytest.raises(AirflowFailException) as raised:
        operator().execute(CONTEXT)

    assert str(raised.value) == "the gate failed: 'EWR' is no airport. Fix: see quality.html."
    cause = raised.value.__cause__
    assert isinstance(cause, SluiceError)
    assert (cause.message, cause.fix) == ("the gate failed: 'EWR' is no airport.", "see quality.html.")


def test_a_second_try_resumes_under_the_same_key(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(exit=3, say="the broker is not up.")
    with pytest.raises(AirflowException):
        operator().execute(CONTEXT)
    first = spark.options()
    spark.behave()
    operator().execute(CONTEXT)

    assert spark.options() == first
    assert len(project.records.backfills().recent("departures")) == 1


@pytest.mark.verify
def test_what_somebody_cancelled_is_not_tried_again(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(exit=137, cancelled=True)

    with pytest.raises(AirflowFailException, match=r"bob cancelled departures-.* not tried again") as raised:
        operator().execute(CONTEXT)

    assert "exit code 137" in str(raised.value)
    assert project.records.backfills().recent("departures")[0].state is BackfillState.CANCELLED

    # Somebody clears the task; what fails now has nothing to do with bob.
    spark.behave(exit=3, say="the broker is not up.", claims_nothing=True)
    with pytest.raises(AirflowException, match="the broker is not up") as again:
        operator().execute(CONTEXT)
    assert not isinstance(again.value, AirflowFailException)


def test_the_links_of_a_failed_run_open_its_pages(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(exit=1, say="different.")
    task = operator()
    with pytest.raises(AirflowFailException):
        task.execute(CONTEXT)

    found = project.records.backfills().recent("departures")[0]
    key: Any = None
    assert ParityLink().get_link(task, ti_key=key) == f"/sluice/backfills/{found.id}/parity"
    assert QualityLink().get_link(task, ti_key=key) == f"/sluice/backfills/{found.id}/quality"


@pytest.mark.verify
def test_a_run_that_claimed_nothing_has_no_links(project: Project, spark: Spark) -> None:
    close(project)
    spark.behave(exit=1, say="there is no such pipeline.", claims_nothing=True)
    task = operator()
    with pytest.raises(AirflowFailException):
        task.execute(CONTEXT)

    assert ParityLink().get_link(task, ti_key=None) == ""  # type: ignore[arg-type]  # it is not checked
    (found,) = project.records.backfills().recent("departures")
    assert (found.state, found.why.partition(";")[0]) == (BackfillState.FAILED, NEVER_BEGAN)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def check_killing_the_task(project: Project, spark: Spark) -> None:
    """See that what a task has started is listed, ends when the task is killed, and that this is no judgement."""
    spark.behave(hang=True)
    task, raised = operator(), []

    def execute() -> None:
        try:
            task.execute(CONTEXT)
        except AirflowException as error:
            raised.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    eventually(lambda: spark.was_called)
    assert [one.state for one in project.records.backfills().recent()] == [BackfillState.SUBMITTED]
    task.on_kill()
    thread.join(30)

    assert not alive(spark.call["pid"])
    assert [type(error) for error in raised] == [AirflowException]


def check_death_of_the_task(spark: Spark) -> None:
    """See that what a task has started ends with a task that says nothing before it dies."""
    spark.behave(hang=True)
    code = "from tests.integration.airflow.test_backfill_dag import CONTEXT, operator\noperator().execute(CONTEXT)\n"
    home = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", code], cwd=home, stdout=subprocess.DEVNULL) as task:
        eventually(lambda: spark.was_called)
        os.kill(task.pid, signal.SIGKILL)

    eventually(lambda: not alive(spark.call["pid"]))


@pytest.mark.verify
def test_killing_the_task_kills_spark_and_is_no_judgement(project: Project, spark: Spark) -> None:
    close(project)
    check_killing_the_task(project, spark)


def test_spark_dies_with_a_task_that_was_killed_without_a_word(project: Project, spark: Spark) -> None:
    close(project)
    check_death_of_the_task(spark)
