"""The DAG `topics`, run by Airflow, where nobody is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from airflow.sdk import DagRunState

from sluice.audit.log import AuditLog
from sluice.settings import settings
from sluice.specs.load import load_catalog
from tests.integration.airflow.topic_runs import NOT_ENFORCED, REFUSED, run
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.project import InMemoryProject

pytestmark = pytest.mark.usefixtures("airflow_database", "private_state", "no_runs")


@pytest.fixture
def project() -> InMemoryProject:
    return InMemoryProject(load_catalog(settings().home / "include"), InMemoryKafkaAdministration())


def test_the_first_run_creates_what_is_declared_and_the_second_changes_nothing(project: InMemoryProject) -> None:
    first = run(project)

    assert (first.state, first.tasks) == (DagRunState.SUCCESS, NOT_ENFORCED)
    assert first.applied == {"applied": 1, "summary": "created flights"}

    topics = dict(project.cluster.topics)
    second = run(project)

    assert (second.state, second.tasks) == (DagRunState.SUCCESS, NOT_ENFORCED)
    assert second.applied == {"applied": 0, "summary": "nothing to change"}
    assert project.cluster.topics == topics
    acts = AuditLog(settings().folder.audit).read().acts
    assert [(act.what, act.outcome.value, act.detail) for act in acts] == [
        ("topics approve", "done", "it was skipped"),
        ("topics apply", "done", "created flights"),
        ("topics approve", "done", "it was skipped"),
        ("topics apply", "done", "nothing to change"),
    ]
    assert len({act.through for act in acts}) == 2
    assert all(act.who == "dag_test" and act.ended is not None for act in acts)


def test_a_configuration_that_nobody_notices_is_set_without_asking(project: InMemoryProject) -> None:
    run(project)
    flights = project.cluster.topics["flights"]
    project.cluster.topics["flights"] = replace(flights, configs={**flights.configs, "retention.ms": "1"})

    ran = run(project)

    assert ran.tasks == NOT_ENFORCED
    assert ran.applied == {"applied": 1, "summary": "changed flights"}
    assert project.cluster.topics["flights"] == flights


def test_what_no_plan_does_asks_nobody_and_is_refused_with_its_values(
    project: InMemoryProject, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project)
    project.cluster.grow("flights", 6)

    ran = run(project)

    assert (ran.state, ran.tasks) == (DagRunState.FAILED, {**REFUSED, "approve": "skipped"})
    act = AuditLog(settings().folder.audit).read().acts[-1]
    assert (act.what, act.outcome.value) == ("topics apply", "refused")
    assert "flights: partitions is 6, declared 4" in act.detail
    assert "flights: partitions is 6, declared 4" in caplog.text + capsys.readouterr().out
