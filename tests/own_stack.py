"""A whole stack with a copy of the project and a state folder of its own, and what a test does with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from kafka import KafkaProducer

from benchmarks.project_copy import copied_project
from sluice.clock import SystemClock
from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.stack import up
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.life.attempts import Attempt
from tests.integration.spark.conftest import values_of
from tests.oracle import flights

UNIT, DAG = "flights", "stream_flights"
SOON = 240.0
"""Seconds until a driver that is started has done something."""


class OwnStack:
    """A stack whose topic gets two days of flights and the heartbeat that closes their intervals, piece by piece.

    A test ends it by `down(stack.settings)`.

    Args:
        home: where the project is copied to.
        state: the state folder.
    """

    def __init__(self, home: Path, state: Path) -> None:
        copied_project(home, "dags", "include", "plugins", "spark_jobs")
        self.settings = Settings(home=home, state=state)
        self.pipeline = home / "include" / "pipelines" / "departures.yaml"
        table = flights("2013-01-01", "2013-01-02")
        closes_all = (table["hour_utc"].max() + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
        heartbeat = {"heartbeat": True, "scheduled_at": closes_all, "observed_at": closes_all}
        self._values: list[dict[str, object]] = [*values_of(table), heartbeat]
        self.sent = 0

    def change(self, pattern: str, line: str) -> None:
        """Replace the one line of the pipeline's spec that a pattern matches."""
        text, found = re.subn(pattern, line, self.pipeline.read_text(), flags=re.MULTILINE)
        assert found == 1
        self.pipeline.write_text(text)

    def up(self) -> None:
        """Bring it up, and let its DAG make the topics."""
        self.airflow = AirflowApi(up(self.settings).airflow_url)
        self.airflow.wait("topics", self.airflow.trigger("topics"), succeeded, SOON)

    def start_stream(self, why: str) -> None:
        """Trigger the DAG that starts the driver."""
        self.airflow.trigger(DAG, {"action": "start", "reason": why})

    def send(self, count: int | None = None) -> None:
        """Send so many of the flights that are left, or all."""
        producer = KafkaProducer(bootstrap_servers=self.project.kafka.bootstrap())
        count = len(self._values) if count is None else count
        piece, self._values = self._values[:count], self._values[count:]
        for value in piece:
            producer.send("flights", key=str(value.get("carrier", "")).encode(), value=json.dumps(value).encode())
        producer.close()
        self.sent += len(piece)

    @property
    def project(self) -> Project:
        """The project as its specs are now."""
        return Project.open_strict(self.settings)

    @property
    def attempt(self) -> Attempt | None:
        """The newest start of the driver that is on record."""
        return self.project.records.registry().latest_attempt(UNIT)

    def eventually(self, condition: Callable[[], bool], what: str, seconds: float = SOON) -> None:
        """Wait until something holds, and fail with the newest attempt if it does not in time."""
        in_time = wait_until(condition, SystemClock(), deadline_seconds=seconds)
        assert in_time, f"not so in time: {what}; the newest attempt is {self.attempt}"
