"""The DAG that replays a case, run by Airflow with a `spark-submit` of our own."""

from __future__ import annotations

import os

import pytest
from airflow.sdk import DagRunState

from sluice.airflow.dags.replays import build_replay_dag
from sluice.project.project import Project
from tests.integration.airflow.spark import Spark, fake_spark
from tests.suites.cases_suite import opened
from tests.twins.opened_project import opened_project

pytestmark = pytest.mark.usefixtures("airflow_database")


@pytest.fixture
def spark(project: Project, monkeypatch: pytest.MonkeyPatch) -> Spark:
    return fake_spark(project, monkeypatch, os.environ["PATH"])


def run(project: Project, case: str | None) -> str:
    dag = build_replay_dag()
    for task in dag.tasks:
        task.retries = 0
    with opened_project(project):
        return str(dag.test(run_conf={"case": case}).state)


def test_the_case_of_the_form_is_replayed_for_its_pipeline(project: Project, spark: Spark) -> None:
    case = project.records.cases().open(opened("departures-q1", of="departures"))

    assert run(project, case.id) == DagRunState.SUCCESS
    *_, command, pipeline, named, by = spark.call["arguments"]
    assert (command, pipeline, named) == ("replay", "--pipeline=departures", "--case=departures-q1")
    assert "(Airflow run " in by


def test_what_is_not_closed_makes_the_run_red_in_the_mains_words(
    project: Project, spark: Spark, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    case = project.records.cases().open(opened("departures-q1", of="departures"))
    spark.behave(exit=1, say="3 of its 3 records are still quarantined.")

    assert run(project, case.id) == DagRunState.FAILED
    assert "3 of its 3 records are still quarantined." in caplog.text + capsys.readouterr().out


@pytest.mark.parametrize("case", [None, "nobody"])
def test_without_a_case_nothing_is_started(
    project: Project,
    spark: Spark,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    case: str | None,
) -> None:
    assert run(project, case) == DagRunState.FAILED
    why = "the form names no case" if case is None else "there is no case 'nobody'"
    assert why in caplog.text + capsys.readouterr().out
    assert not spark.was_called
