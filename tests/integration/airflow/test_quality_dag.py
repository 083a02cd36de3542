"""The quality DAG, run by Airflow with a `spark-submit` of our own."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from airflow.sdk import DagRunState

from sluice.airflow.dags.quality import QualityOperator, build_quality_dag
from sluice.project.project import Project
from tests.integration.airflow.spark import Spark, close, fake_spark

pytestmark = pytest.mark.usefixtures("airflow_database")


@pytest.fixture
def spark(project: Project, monkeypatch: pytest.MonkeyPatch) -> Spark:
    return fake_spark(project, monkeypatch, os.environ["PATH"])


def run(project: Project) -> str:
    dag = build_quality_dag(project.catalog.pipelines["departures"])
    for task in dag.tasks:
        task.retries = 0
    return str(dag.test().state)


def test_before_the_first_interval_is_closed_a_run_is_skipped_without_spark(project: Project, spark: Spark) -> None:
    dag_run = build_quality_dag(project.catalog.pipelines["departures"]).test()

    assert [str(task.state) for task in dag_run.get_task_instances()] == ["skipped"]
    assert not spark.was_called


def test_a_run_by_the_clock_checks_the_default_range(project: Project, spark: Spark) -> None:
    close(project)

    assert run(project) == DagRunState.SUCCESS
    assert spark.call["arguments"][-2:] == ["quality", "--pipeline=departures"]


def test_a_batch_is_told_whose_run_it_is_where_lineage_is_collected(
    project: Project, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(project)
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")

    assert run(project) == DagRunState.SUCCESS
    assert "/quality_departures.check/" in spark.call["environment"]["OPENLINEAGE_PARENT_ID"]
    assert "/quality_departures/" in spark.call["environment"]["OPENLINEAGE_ROOT_PARENT_ID"]


def test_a_gate_that_fails_makes_the_run_red(
    project: Project, spark: Spark, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    close(project)
    spark.behave(exit=1, say="1 of 9 expectations does not hold.")

    assert run(project) == DagRunState.FAILED
    assert "1 of 9 expectations does not hold." in caplog.text + capsys.readouterr().out


@dataclass(frozen=True)
class Event:
    """What is left of a publish."""

    extra: dict[str, str]


def test_a_run_after_a_publish_checks_what_was_published() -> None:
    extra = {"from": "2013-01-01T00:00:00+00:00", "to": "2013-01-02T00:00:00+00:00", "backfill": "departures-1"}
    operator = QualityOperator(task_id="check", pipeline="departures")

    arguments = operator.batch_arguments({"triggering_asset_events": {"departures": [Event(extra)]}})  # type: ignore[typeddict-item]

    assert arguments[2:] == ("--from=2013-01-01T00:00:00+00:00", "--to=2013-01-02T00:00:00+00:00")
