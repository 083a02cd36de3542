"""The DAG `lift_throttles`, run by Airflow."""

from __future__ import annotations

from typing import cast

import pytest
from airflow.sdk import DagRunState

from sluice.airflow import runtime
from sluice.airflow.dags.throttle_upkeep import ThrottleTrigger, build_lift_throttles_dag
from sluice.airflow.rounds import AskedOfAirflow, RoundOperator
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.topics.administration import TopicCreation
from sluice.topics.replica_administration import THROTTLED, Throttle
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.project import InMemoryProject

pytestmark = pytest.mark.usefixtures("airflow_database", "private_state")

NOT_ASKED = cast(AskedOfAirflow, None)
"""Runs are nothing to this round."""


def throttled_cluster() -> InMemoryKafkaAdministration:
    cluster = InMemoryKafkaAdministration(brokers=2)
    cluster.create([TopicCreation("flights", 4, 1)])
    cluster.throttle(Throttle(1000, {("flights", 0): (1,)}, {("flights", 0): (2,)}))
    return cluster


def test_what_a_killed_move_has_left_is_gone_after_a_run_and_told_in_its_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = throttled_cluster()
    project = InMemoryProject(load_catalog(settings().home / "include"), cluster)
    monkeypatch.setattr(runtime, "open_project", lambda: project)
    dag = build_lift_throttles_dag(clock=ManualClock())
    for lifted in ([{"topic": "flights"}], []):
        dag_run = dag.test()
        assert dag_run.state == DagRunState.SUCCESS
        assert dag_run.get_task_instances()[0].xcom_pull("lift") == lifted
    assert not set(THROTTLED) & cluster.topics["flights"].configs.keys()


def test_the_triggerer_finds_a_throttle_and_leaves_the_waiting_to_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = throttled_cluster()
    project = InMemoryProject(load_catalog(settings().home / "include"), cluster)
    monkeypatch.setattr(runtime, "open_project", lambda: project)
    dag = build_lift_throttles_dag(clock=ManualClock())

    found = ThrottleTrigger().round(NOT_ASKED)
    assert found == [{"topic": "flights"}]
    assert set(THROTTLED) & cluster.topics["flights"].configs.keys(), "it only reads"

    lift = cast(RoundOperator, dag.get_task("lift"))
    assert lift.take_over({}, {"found": found}) == [{"topic": "flights"}]
    assert ThrottleTrigger().round(NOT_ASKED) == []
