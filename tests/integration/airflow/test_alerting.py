"""Failures of DAGs of the house, run by Airflow, reach a real HTTP service and the journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowSkipException

from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.dags.streams import build_stream_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.alerts.alert import Level
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.errors import RefusedError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import load_catalog, scan
from sluice.specs.model.deadlines import Deadline
from sluice.specs.units import declared_units
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import DeadlineState, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from tests.integration.sink import Sink, running_sink
from tests.twins.project import InMemoryProject

pytestmark = pytest.mark.usefixtures("airflow_database", "private_state")

SECRET = "correct-horse-battery"  # noqa: S105 - a secret of nothing


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as sink:
        yield sink


@pytest.fixture
def connected(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> Sink:
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", connection(sink.address))
    return sink


def connection(address: str) -> str:
    return json.dumps({"conn_type": "apprise", "extra": {"config": {"path": address}}})


def dag_of(name: str, *bodies: Callable[[], None], **arguments: object) -> DAG:
    """Return a DAG of the house whose tasks run the bodies, beside each other."""
    with sluice_dag(name, doc="A test.", description="A test.", tags=(Tag.UPKEEP,)) as dag:
        for body in bodies:
            task(task_id=body.__name__, retries=0, **arguments)(body)()
    return dag


def journalled() -> AlertHistory:
    return Journal(settings().folder.alerts).read()


def refuse() -> None:
    with retried_only_if_unknown():
        refusal = RefusedError("flights: partitions is 2, declared 4.", fix="declare 2, or grow the topic.")
        refusal.add_note("report: backfills/b1/report.json")
        raise refusal


def leak() -> None:
    raise ValueError(f"cannot connect to postgresql://sluice:{SECRET}@db/control with password={SECRET}")


def skip() -> None:
    raise AirflowSkipException("nothing to do")


def test_a_failed_task_is_told_with_what_why_evidence_where_and_what_to_do(connected: Sink) -> None:
    run = dag_of("topics", refuse).test()

    (page,) = connected.received
    assert page["title"] == "Task refuse of DAG topics failed"
    assert page["type"] == "failure"
    told = page["message"]
    assert told.startswith("flights: partitions is 2, declared 4.\n")
    assert "report: backfills/b1/report.json" in told
    assert "owner: data-platform" in told
    assert "raised at " in told
    assert "What to do: declare 2, or grow the topic." in told
    assert f"/dags/topics/runs/{run.run_id.replace('+', '%2B').replace(':', '%3A')}/tasks/refuse" in told
    assert "try 1" in told


class NoRuns:
    """An Airflow without any run."""

    def state(self, _dag_id: str, _run_id: str) -> str:
        return ""

    def successes(self, _dag_id: str) -> int:
        return 0

    def failures(self, _dag_id: str) -> int:
        return 0


def test_a_deadline_is_told_as_a_failure_and_its_end_as_a_success(connected: Sink) -> None:
    twin = InMemoryProject(load_catalog(settings().home / "include"))
    twin.streams.life("flights").start("ada", "launch")
    late = DeadlineState(Deadline.LOSS_RISK, True, twin.clock.now(), "The first unread record waits for an hour.")
    verdict = Verdict(Health.LAGGING, "It falls behind.", "give it more cores")
    for state in (late, replace(late, missed=False)):
        snapshot = StreamSnapshot("flights", "departures", 1, twin.clock.now(), verdict, deadlines=(state,))
        cast(Project, twin).records.snapshots().store([snapshot])
        alert_round(lambda: cast(Project, twin), NoRuns(), airflow_dispatcher(twin.clock))
        twin.clock.sleep(60)

    pages = [page for page in connected.received if "deadline" in page["title"]]
    assert [page["type"] for page in pages] == ["failure", "success"]
    missed, met = (page["message"] for page in pages)
    assert missed.startswith(late.why)
    assert "What to do: give it more cores" in missed
    assert "/dags/stream_flights" in missed
    assert "What to do: Nothing." in met


def test_a_run_calls_once_and_its_own_alert_names_the_failed_tasks(connected: Sink) -> None:
    run = dag_of("topics", refuse, leak).test()

    history = journalled()
    outcomes = {alert.task_id or "": history.deliveries[alert.id].outcome for alert in history.alerts}
    whole = history.alerts[-1]
    assert len(connected.received) == 1
    assert sorted(outcomes.values()) == [DeliveryOutcome.DELIVERED, DeliveryOutcome.WITHHELD, DeliveryOutcome.WITHHELD]
    assert outcomes[""] is DeliveryOutcome.WITHHELD
    assert (whole.level, whole.dag_id, whole.run_id) == (Level.DAG, "topics", run.run_id)
    assert "Failed tasks: leak, refuse." in whole.why or "Failed tasks: refuse, leak." in whole.why


def test_no_secret_is_told_or_recorded(connected: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTROL_DB_PASSWORD", SECRET)

    dag_of("topics", leak).test()

    (page,) = connected.received
    recorded = b"".join(file.read_bytes() for file in settings().folder.alerts.iterdir()).decode()
    assert "postgresql://sluice:***@db/control with password=***" in page["message"]
    assert SECRET not in json.dumps(page) + recorded
    assert "path-token" not in json.dumps(page) + recorded


def test_a_skip_and_a_success_tell_nobody(connected: Sink) -> None:
    dag_of("topics", skip).test()

    assert connected.received == []
    assert journalled() == AlertHistory()


def test_a_service_that_is_down_fails_no_run_more_and_is_on_record(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS", connection("json://127.0.0.1:1/path-token-8271"))

    dag_of("topics", refuse).test()

    history = journalled()
    first, whole = history.alerts
    assert history.deliveries[first.id].outcome is DeliveryOutcome.FAILED
    assert history.deliveries[first.id].detail.startswith("delivery failed: JSON: ")
    assert history.deliveries[whole.id].outcome is DeliveryOutcome.FAILED, (
        "nobody was told, so the run's own alert tries again"
    )
    assert "path-token" not in str(history) + caplog.text


def test_without_a_connection_the_journal_is_all_there_is() -> None:
    dag_of("topics", refuse).test()

    history = journalled()
    outcomes = {alert.level: history.deliveries[alert.id].outcome for alert in history.alerts}
    assert outcomes == {Level.TASK: DeliveryOutcome.NOT_CONFIGURED, Level.DAG: DeliveryOutcome.WITHHELD}, "told once"


def test_a_journal_that_takes_nothing_keeps_nobody_from_being_told(connected: Sink, tmp_path: Path) -> None:
    (tmp_path / "alerts").write_text("a file where the folder should be")

    dag_of("topics", refuse).test()

    task_page, run_page = connected.received
    assert "this alert is not recorded: The journal of alerts in" in task_page["message"]
    assert run_page["title"].endswith("of DAG topics failed"), "nothing on record says that somebody was told"


def test_a_watch_tells_its_units_generation_verdict_and_the_end_of_the_drivers_log(
    connected: Sink, project: Project
) -> None:
    unit = declared_units(scan(project.settings.home / "include"), project.settings.home / "include")["flights"]
    (project.settings.home / "spark_jobs" / "stream.py").write_text(
        "raise RuntimeError('the disk of the driver is full')", encoding="utf-8"
    )

    build_stream_dag(unit, limit=timedelta(minutes=2)).test()

    (page,) = connected.received
    told = page["message"]
    assert page["title"] == "Task watch of DAG stream_flights failed (unit flights)"
    assert told.startswith("The driver of unit flights is dead and no stop was requested.")
    assert "generation 1 of unit flights (local.flights.g1) is ended, failed" in told
    assert f"log of the driver: {project.processes.launcher().log('local.flights.g1')}" in told
    assert "RuntimeError: the disk of the driver is full" in told
    assert "What to do: Read its log (`sluice streams logs flights`)" in told
