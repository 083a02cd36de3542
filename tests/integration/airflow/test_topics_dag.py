"""The DAG `topics`, run by Airflow against a cluster in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.sdk import DagRunState

from sluice.airflow.topics import build_topics_dag, summary, table
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.topics.administration import TopicCreation
from sluice.topics.changes import Create, Grow, Refused
from sluice.topics.plan import Plan
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.project import InMemoryProject

pytestmark = pytest.mark.usefixtures("airflow_database")


@pytest.fixture
def project() -> InMemoryProject:
    return InMemoryProject(load_catalog(settings().home / "include"), InMemoryKafkaAdministration())


def run(project: InMemoryProject) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return the run's state, what `apply` returned, and each task's state."""
    dag_run = build_topics_dag(open_project=lambda: project).test()
    tasks = {task.task_id: task for task in dag_run.get_task_instances()}
    return dag_run.state, tasks["apply"].xcom_pull("apply"), {name: str(task.state) for name, task in tasks.items()}


def test_the_first_run_creates_what_is_declared_and_the_second_changes_nothing(project: InMemoryProject) -> None:
    state, applied, _ = run(project)

    assert state == DagRunState.SUCCESS
    assert applied == {"applied": 1, "summary": "created flights"}

    topics = dict(project.cluster.topics)
    state, applied, _ = run(project)

    assert state == DagRunState.SUCCESS
    assert applied == {"applied": 0, "summary": "nothing to change"}
    assert project.cluster.topics == topics


def test_a_configuration_that_nobody_notices_is_set(project: InMemoryProject) -> None:
    run(project)
    flights = project.cluster.topics["flights"]
    project.cluster.topics["flights"] = replace(flights, configs={"retention.ms": "1"})

    state, applied, _ = run(project)

    assert state == DagRunState.SUCCESS
    assert applied == {"applied": 1, "summary": "changed flights"}
    assert project.cluster.topics["flights"] == flights


def test_what_is_not_safe_is_refused_with_its_values_and_the_command_that_approves_it(
    project: InMemoryProject, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project)
    flights = project.cluster.topics["flights"]
    project.cluster.topics["flights"] = replace(flights, replicas=flights.replicas[:2])

    state, _, tasks = run(project)

    assert state == DagRunState.FAILED
    assert tasks == {"plan": "success", "apply": "failed", "verify": "upstream_failed"}
    said = caplog.text + capsys.readouterr().out
    assert "flights: partitions is 2, declared 4" in said
    assert "sluice topics apply --plan " in said


def test_a_table_says_what_is_there_and_what_is_declared() -> None:
    found = Plan(
        (Create(TopicCreation("weather", 2, 1, {"retention.ms": "-1"})), Grow("sales", 2, 4, keyed=False)),
        (Refused("flights", "partitions", "5", "4", "nobody can", "declare 5"),),
    )

    assert table(found).splitlines()[2:] == [
        (
            "| weather | topic | absent | 2 partitions, replication 1, retention.ms=-1 | safe "
            "| it is declared and not there |"
        ),
        "| sales | partitions | 2 | 4 | approval | partitions can never be taken away again |",
        "| flights | partitions | 5 | 4 | refused | nobody can: declare 5 |",
    ]
    assert "Nothing to change" in table(Plan())


def test_a_summary_stays_short_with_a_thousand_topics() -> None:
    many = Plan(tuple(Create(TopicCreation(f"topic_{n}", 1, 1)) for n in range(1000)))

    assert summary(many).endswith("topic_19 and 980 more")
