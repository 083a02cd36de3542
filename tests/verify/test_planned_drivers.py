"""A whole stack whose driver rests by plan: a tick of the real scheduler starts it, and so do records that come."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from kafka import KafkaProducer

from benchmarks.project_copy import copied_project
from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.stack import down, up
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.life.attempts import Attempt
from tests.integration.spark.conftest import values_of
from tests.oracle import flights

pytestmark = [pytest.mark.verify, pytest.mark.timeout(2400)]
UNIT, DAG = "flights", "stream_flights"
SOON, TICK = 240.0, 700.0
"""Seconds: until a driver that is started has done something, and until the next tick of five minutes has, too."""


class PlannedStack:
    """A stack with a project of its own, whose pipeline says when its driver runs."""

    def __init__(self, folder: Path) -> None:
        home = copied_project(folder / "project", "dags", "include", "plugins", "spark_jobs")
        self.place = Settings(home=home, state=folder / "state")
        self._spec = home / "include" / "pipelines" / "departures.yaml"
        self._spec.write_text(self._spec.read_text().replace("keep: open", "keep: all"))
        self._values = values_of(flights("2013-01-01", "2013-01-02"))
        self.sent = 0

    def plan(self, line: str) -> None:
        """Have the pipeline say when its driver runs."""
        text, found = re.subn(
            r"^(trigger|schedule|stop_when_idle): .*$", line, self._spec.read_text(), flags=re.MULTILINE
        )
        assert found == 1
        self._spec.write_text(text)

    def up(self) -> None:
        self.airflow = AirflowApi(up(self.place).airflow_url)
        self.airflow.wait("topics", self.airflow.trigger("topics"), succeeded, SOON)

    def send(self, count: int) -> None:
        producer = KafkaProducer(bootstrap_servers=self.project.kafka.bootstrap())
        piece, self._values = self._values[:count], self._values[count:]
        for value in piece:
            producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value).encode())
        producer.close()
        self.sent += len(piece)

    @property
    def project(self) -> Project:
        """The project as its specs are now."""
        return Project.open_strict(self.place)

    @property
    def attempt(self) -> Attempt | None:
        return self.project.records.registry().latest_attempt(UNIT)

    def ended(self, generation: int, failure: FailureClass, seconds: float) -> None:
        """Wait until it is on record that a driver has ended, and how."""

        def on_record() -> bool:
            attempt = self.attempt
            return attempt is not None and attempt.generation == generation and attempt.failure is not None

        self.eventually(on_record, f"driver {generation} has ended", seconds)
        attempt = self.attempt
        assert attempt is not None
        assert attempt.failure is failure, attempt

    def started(self, generation: int, seconds: float) -> None:
        """Wait until there is a driver of a generation."""
        self.eventually(
            lambda: (attempt := self.attempt) is not None and attempt.generation >= generation,
            f"driver {generation} is started",
            seconds,
        )

    def rests(self, health: Health) -> None:
        """Wait until every verdict says that it rests."""

        def resting() -> bool:
            verdicts = self.project.health.verdicts(UNIT)
            return bool(verdicts) and {verdict.health for verdict in verdicts.values()} == {health}

        self.eventually(resting, f"every stream is {health}", SOON)

    def has_read_all(self) -> None:
        raw = self.place.state / "tables" / "flights_raw"
        self.eventually(
            lambda: (raw / "_delta_log").is_dir() and len(read_rows(raw)) == self.sent, f"read {self.sent}", SOON
        )

    def runs_by_the_clock(self) -> list[dict[str, object]]:
        """Return the runs of the unit's DAG that Airflow's scheduler has begun by itself, as it shows them."""
        return list(self.airflow._call("GET", f"/dags/{DAG}/dagRuns?run_type=scheduled")["dag_runs"])

    def eventually(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        in_time = wait_until(condition, SystemClock(), deadline_seconds=seconds)
        assert in_time, f"not so in time: {what}; the newest attempt is {self.attempt}"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[PlannedStack]:
    stack = PlannedStack(tmp_path)
    try:
        yield stack
    finally:
        down(stack.place)


def test_a_tick_of_the_scheduler_starts_a_driver_and_so_do_records_after_it_was_idle(stack: PlannedStack) -> None:
    stack.plan("schedule: '*/5 * * * *'")
    stack.up()
    stack.send(400)
    stack.airflow.trigger(DAG, {"action": "start", "reason": "the first start is a person's"})
    stack.ended(1, FailureClass.COMPLETED, TICK)
    stack.has_read_all()
    stack.rests(Health.SCHEDULED)

    # Nobody does anything but send: the next tick reads it.
    before, known = len(stack.runs_by_the_clock()), stack.attempt
    assert known is not None
    stack.send(400)
    stack.started(known.generation + 1, TICK)
    stack.has_read_all()
    stack.eventually(lambda: len(stack.runs_by_the_clock()) > before, "the scheduler has begun a run", SOON)
    newest = stack.attempt
    assert newest is not None
    stack.ended(newest.generation, FailureClass.COMPLETED, SOON)

    # The plan changes while the stack is up: the driver goes on until nothing comes, and comes back with records.
    stack.plan("stop_when_idle: 5 minutes")
    stack.started(newest.generation + 1, TICK)
    resting = stack.attempt
    assert resting is not None
    stack.ended(resting.generation, FailureClass.IDLE, timedelta(minutes=5).total_seconds() + 2 * SOON)
    stack.rests(Health.IDLE)
    stack.send(400)
    stack.started(resting.generation + 1, SOON)
    stack.has_read_all()
