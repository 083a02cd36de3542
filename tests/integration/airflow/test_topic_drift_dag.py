"""The DAG `topic_drift`, run by Airflow: who fails, who is told, and that nothing is repaired."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from airflow.sdk import DagRunState

from sluice.airflow import runtime
from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.dags.topic_drift import CompareOperator, DriftTrigger, build_topic_drift_dag
from sluice.airflow.rounds import AskedOfAirflow
from sluice.alerts.alert import Alert, Level
from sluice.alerts.journal import Journal
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.project.project import Project
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.stamping import bounded
from sluice.specs.load import load_catalog
from sluice.streams.life.attempts import Desired
from sluice.topics.administration import KafkaAdministration
from tests.integration.airflow.test_alert_policy import KnownRuns
from tests.integration.sink import Sink, running_sink
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject

pytestmark = pytest.mark.usefixtures("airflow_database", "private_state")

NAMES = ("flights", "sales", "weather")


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sink]:
    with running_sink() as sink:
        extra = {"config": {"path": sink.address}}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", json.dumps({"conn_type": "apprise", "extra": extra}))
        yield sink


@dataclass
class Case:
    """Three topics that are as declared."""

    project: InMemoryProject
    administration: KafkaAdministration
    names: tuple[str, ...]

    def grow(self, name: str, partitions: int) -> None:
        """Let somebody change the cluster by hand."""
        self.administration.grow(name, partitions)


def prepared(administration: KafkaAdministration, names: tuple[str, ...]) -> Case:
    shipped = load_catalog(settings().home / "include").topics["flights"]
    topics = {name: shipped.model_copy(update={"name": name, "partitions": 2}) for name in names}
    apply(Declared({name: bounded(topic, ()) for name, topic in topics.items()}), administration)
    return Case(InMemoryProject(Catalog(topics=topics), administration), administration, names)


@pytest.fixture
def case() -> Case:
    return prepared(InMemoryKafkaAdministration(), NAMES)


@pytest.fixture(params=["memory", "kafka"])
def any_case(request: pytest.FixtureRequest) -> Iterator[Case]:
    unique = uuid.uuid4().hex[:8]
    names = tuple(f"{name}_{unique}" for name in NAMES)
    if request.param == "memory":
        yield prepared(InMemoryKafkaAdministration(), names)
    else:
        broker: BrokerProcess = request.getfixturevalue("broker")
        with KafkaPythonAdministration([broker.bootstrap]) as administration:
            yield prepared(administration, names)


def check(case: Case) -> tuple[str, dict[str, str]]:
    """Return the run's state, and that of each task by its label."""
    dag = build_topic_drift_dag()
    dag.get_task("compare").retries = 0
    with opened_project(case.project):
        dag_run = dag.test()
    tasks: dict[str, Any] = {ti.rendered_map_index or ti.task_id: ti for ti in dag_run.get_task_instances()}
    return dag_run.state, {name: str(ti.state) for name, ti in tasks.items()}


def alerts() -> list[Alert]:
    return list(Journal(settings().folder.alerts).read().alerts)


def titles(sink: Sink) -> list[str]:
    return [page["title"] for page in sink.received]


def test_each_topic_that_drifted_fails_and_calls_by_its_name_and_nothing_is_repaired(
    any_case: Case, sink: Sink
) -> None:
    flights, sales, weather = any_case.names
    any_case.grow(flights, 3)
    any_case.grow(weather, 5)
    before = any_case.administration.describe(any_case.names)

    state, tasks = check(any_case)

    assert state == DagRunState.FAILED
    assert tasks == {"compare": "success", flights: "failed", weather: "failed"}
    assert any_case.administration.describe(any_case.names) == before
    assert sorted(titles(sink)) == [
        f"Task drifted[{flights}] of DAG topic_drift failed (topic {flights})",
        f"Task drifted[{weather}] of DAG topic_drift failed (topic {weather})",
    ]
    told = {alert.subject: alert for alert in alerts()}
    assert set(told) == {f"topic {flights}", f"topic {weather}"}, "the run says nothing of its own"
    assert told[f"topic {weather}"].why == f"{weather} is not as declared: partitions is 5, declared 2."
    assert "Nothing was repaired" in told[f"topic {weather}"].what_to_do
    assert sales not in str(told)


def test_a_cluster_as_declared_costs_one_task(case: Case) -> None:
    assert check(case) == (DagRunState.SUCCESS, {"compare": "success", "drifted": "skipped"})
    assert alerts() == []


def test_a_topic_calls_when_it_drifts_not_at_each_check_and_when_it_is_well_again(case: Case, sink: Sink) -> None:
    case.grow("flights", 3)
    for _ in range(3):
        state, tasks = check(case)
        assert (state, tasks["flights"]) == (DagRunState.FAILED, "failed")
    assert len(sink.received) == len(alerts()) == 1

    case.grow("flights", 4)
    check(case)
    assert [alert.why for alert in alerts()][1:] == ["flights is not as declared: partitions is 4, declared 2."]

    case.project.catalog = Catalog(
        topics={
            name: spec.model_copy(update={"partitions": 4}) if name == "flights" else spec
            for name, spec in case.project.catalog.topics.items()
        }
    )
    for _ in range(2):
        assert check(case)[0] == DagRunState.SUCCESS
    assert [(alert.level, alert.what) for alert in alerts()][2:] == [
        (Level.RECOVERY, "Topic flights is well again"),
    ]
    assert titles(sink)[-1] == "Topic flights is well again"

    case.grow("flights", 5)
    check(case)
    assert len(sink.received) == 4, "what comes again after it was over is news"


def test_a_topic_that_is_gone_or_altered_has_drifted(case: Case) -> None:
    assert isinstance(case.administration, InMemoryKafkaAdministration)
    case.administration.forget("sales")
    case.project.control.set_desired_state("flights", Desired.RUNNING, by="ada", why="it is used")
    weather = case.administration.topics["weather"]
    case.administration.topics["weather"] = replace(weather, configs={**weather.configs, "retention.ms": "1"})

    _, tasks = check(case)

    assert tasks == {"compare": "success", "sales": "failed", "weather": "failed"}
    told = {alert.subject: alert.why for alert in alerts()}
    assert told["topic sales"].startswith("sales is not as declared: topic is absent, declared 2 partitions")
    assert told["topic weather"] == "weather is not as declared: retention.ms is 1, declared -1."


def test_a_topic_that_nobody_has_made_calls_nobody_until_somebody_starts_a_stream_of_it(case: Case) -> None:
    assert isinstance(case.administration, InMemoryKafkaAdministration)
    case.administration.forget("sales")

    assert check(case)[0] == DagRunState.SUCCESS
    assert alerts() == []

    case.project.control.set_desired_state("flights", Desired.RUNNING, by="ada", why="now it is")
    assert check(case) == (DagRunState.FAILED, {"compare": "success", "sales": "failed"})


def test_a_cluster_that_cannot_be_asked_is_one_failure_that_says_so_and_no_drift(case: Case, sink: Sink) -> None:
    assert isinstance(case.administration, InMemoryKafkaAdministration)
    case.grow("flights", 3)
    case.administration.reachable = False
    for _ in range(2):
        assert check(case) == (DagRunState.FAILED, {"compare": "failed", "drifted": "upstream_failed"})

    (alert,) = alerts()
    assert alert.why == "No Kafka broker could be reached."
    assert "drifted" not in alert.text()
    assert len(sink.received) == 1

    case.administration.reachable = True
    check(case)
    assert titles(sink)[1:] == [
        f"{CompareOperator.alert_subject[:1].upper()}{CompareOperator.alert_subject[1:]} is well again",
        "Task drifted[flights] of DAG topic_drift failed (topic flights)",
    ]


def test_the_triggerer_looks_as_a_worker_does_and_closes_its_connection(
    any_case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "open_project", lambda: any_case.project)
    not_asked = cast(AskedOfAirflow, None)
    assert DriftTrigger().round(not_asked) == []

    any_case.grow(any_case.names[0], 3)
    assert [each["topic"] for each in DriftTrigger().round(not_asked)] == [any_case.names[0]]

    if isinstance(any_case.administration, KafkaPythonAdministration):
        assert any_case.administration._connected is None


def test_an_unreachable_cluster_is_asked_again_before_it_is_a_failure() -> None:
    dag = build_topic_drift_dag()

    assert dag.get_task("compare").retries == 3
    assert dag.get_task("drifted").retries == 0


def test_a_service_that_is_down_gets_its_alert_from_the_minutes_round_and_the_next_check_makes_no_other(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"config": {"path": "json://127.0.0.1:1/"}}
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", json.dumps({"conn_type": "apprise", "extra": extra}))
    case.grow("flights", 3)
    check(case)
    with running_sink() as sink:
        extra = {"config": {"path": sink.address}}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", json.dumps({"conn_type": "apprise", "extra": extra}))
        check(case)
        assert titles(sink) == []
        later = ManualClock(datetime.now(UTC) + timedelta(minutes=6))
        alert_round(lambda: cast("Project", InMemoryProject()), KnownRuns(), airflow_dispatcher(later))
        assert titles(sink) == ["Task drifted[flights] of DAG topic_drift failed (topic flights)"]
