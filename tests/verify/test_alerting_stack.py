"""The whole way of an alert in the real stack: task processes, the DAG processor, Airflow's connections."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sluice.alerts.alert import Level
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.devstack.airflow.api import AirflowApi, DagRun
from sluice.devstack.airflow.configuration import airflow_command, stack_environment
from sluice.devstack.stack import down, up
from sluice.settings import Settings
from tests.integration.sink import Sink, running_sink
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]

DEADLINE_SECONDS = 120.0

DAGS = """
import os
import signal
import time
from datetime import timedelta

from airflow.sdk import task

from sluice.airflow.dags.conventions import Tag, sluice_dag
from sluice.airflow.dags.reconciler import build_reconcile_dag
from sluice.settings import settings


def broken():
    raise ValueError("the plan does not add up")


def fickle():
    if not (settings().state / "mended").exists():
        raise ValueError("it is not mended")


def fickly_killed():
    if not (settings().state / "mended").exists():
        os.kill(os.getpid(), signal.SIGKILL)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def endless():
    time.sleep(600)


def dag_of(body, **arguments):
    with sluice_dag(body.__name__, doc="A test.", description="A test.", tags=(Tag.UPKEEP,), **arguments):
        task(retries=0)(body)()


build_reconcile_dag()
dag_of(broken)
dag_of(fickle)
dag_of(fickly_killed)
dag_of(killed)
dag_of(endless, dagrun_timeout=timedelta(seconds=5))
"""


@dataclass(frozen=True)
class Stack:
    """A running stack, its API, and the service that takes its alerts."""

    place: Settings
    airflow: AirflowApi
    sink: Sink

    def history(self) -> AlertHistory:
        return Journal(self.place.folder.alerts).read()

    def fail(self, dag_id: str) -> str:
        """Run a DAG that fails and return the run's id."""
        run_id = self.airflow.trigger(dag_id)

        def failed() -> bool:
            run: DagRun = self.airflow.run(dag_id, run_id)
            return run.state == "failed"

        eventually(failed)
        return run_id

    def told_of(self, run_id: str) -> list[dict[str, Any]]:
        """Return what the service was sent about a run."""
        ids = {alert.id for alert in self.history().alerts if alert.run_id == run_id}
        return [page for page in self.sink.received if any(f"Alert {name}," in page["message"] for name in ids)]

    def levels_of(self, run_id: str) -> dict[Level, DeliveryOutcome]:
        """Return the outcome of each level's alert about a run."""
        history = self.history()
        outcomes = history.deliveries
        return {a.level: outcomes[a.id].outcome for a in history.alerts if a.run_id == run_id and a.id in outcomes}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("alerting")
    home = folder / "home"
    for name in ("dags", "plugins"):
        (home / name).mkdir(parents=True)
    (home / "include").symlink_to(Settings().home / "include")
    (home / "spark_jobs").symlink_to(Settings().home / "spark_jobs")
    (home / "dags" / "failures.py").write_text(DAGS, encoding="utf-8")
    place = Settings(home=home, state=folder / "state")
    with running_sink() as sink:
        try:
            stack = Stack(place, AirflowApi(up(place).airflow_url), sink)
            connect(place, sink)
            eventually(lambda: stack.airflow._call("GET", "/dags")["total_entries"] == 6)
            yield stack
        finally:
            down(place)


def connect(place: Settings, sink: Sink) -> None:
    extra = json.dumps({"config": {"path": sink.address}})
    command = airflow_command("connections", "add", "sluice_alerts", "--conn-type", "apprise", "--conn-extra", extra)
    subprocess.run(command, env=stack_environment(place), check=True, capture_output=True)


def test_a_failed_task_calls_and_its_run_does_not_call_again(stack: Stack) -> None:
    run_id = stack.fail("broken")
    eventually(lambda: len(stack.levels_of(run_id)) == 2)

    assert stack.levels_of(run_id) == {Level.TASK: DeliveryOutcome.DELIVERED, Level.DAG: DeliveryOutcome.WITHHELD}
    (page,) = stack.told_of(run_id)
    assert page["title"] == "Task broken of DAG broken failed"
    assert page["message"].startswith("ValueError: the plan does not add up")


def test_a_task_whose_process_was_killed_is_told_all_the_same(stack: Stack) -> None:
    run_id = stack.fail("killed")
    eventually(lambda: bool(stack.told_of(run_id)))

    assert "killed" in stack.told_of(run_id)[0]["message"]
    assert len(stack.told_of(run_id)) == 1


def test_a_run_that_takes_too_long_calls_although_no_task_failed(stack: Stack) -> None:
    run_id = stack.fail("endless")
    eventually(lambda: bool(stack.told_of(run_id)))

    (page,) = stack.told_of(run_id)
    assert page["title"] == f"Run {run_id} of DAG endless failed"
    assert page["message"].startswith("It ran longer than it may (dagrun_timeout).")
    assert stack.levels_of(run_id)[Level.DAG] is DeliveryOutcome.DELIVERED


def test_the_same_failure_of_another_run_is_on_record_and_a_run_that_was_cleared_calls_again(stack: Stack) -> None:
    run_id = stack.fail("broken")
    eventually(lambda: len(stack.levels_of(run_id)) == 2)
    assert set(stack.levels_of(run_id).values()) == {DeliveryOutcome.WITHHELD}
    assert stack.told_of(run_id) == []

    command = airflow_command("tasks", "clear", "broken", "--yes")
    subprocess.run(command, env=stack_environment(stack.place), check=True, capture_output=True)

    eventually(lambda: len(stack.told_of(run_id)) == 1)
    assert "try 2" in stack.told_of(run_id)[0]["message"]


def test_a_failure_is_over_when_a_later_run_succeeds_and_that_is_told(stack: Stack) -> None:
    run_id = stack.fail("fickle")
    eventually(lambda: len(stack.told_of(run_id)) == 1)
    (stack.place.state / "mended").touch()
    stack.airflow.trigger("fickle")

    eventually(lambda: any(page["title"] == "Over: Task fickle of DAG fickle failed" for page in stack.sink.received))

    (over,) = [page for page in stack.sink.received if page["title"].startswith("Over: Task fickle")]
    assert over["type"] == "success"
    assert f"The run {run_id} itself is still failed." in over["message"]


def test_the_failure_of_a_task_that_died_without_a_word_is_over_when_a_later_run_succeeds(stack: Stack) -> None:
    (stack.place.state / "mended").unlink(missing_ok=True)
    run_id = stack.fail("fickly_killed")
    eventually(lambda: len(stack.told_of(run_id)) == 1)
    eventually(lambda: any(count.open_alerts for count in stack.history().counts.get("fickly_killed", ())))
    (stack.place.state / "mended").touch()
    stack.airflow.trigger("fickly_killed")

    over = f"Over: Run {run_id} of DAG fickly_killed failed"
    eventually(lambda: any(page["title"] == over for page in stack.sink.received))


def test_the_command_line_tries_the_stacks_own_connection(stack: Stack) -> None:
    sluice = str(Path(sys.executable).with_name("sluice"))
    environment = {**os.environ, "SLUICE_HOME": str(stack.place.home), "SLUICE_STATE": str(stack.place.state)}

    done = subprocess.run(
        [sluice, "alerts", "test"], env=environment, capture_output=True, text=True, check=False, timeout=120
    )

    assert (done.returncode, done.stdout.endswith(": delivered to JSON.\n")) == (0, True), done.stdout + done.stderr
    assert stack.sink.received[-1]["title"] == "This is a test of Sluice's alerts"
    assert stack.sink.address not in done.stdout + done.stderr
