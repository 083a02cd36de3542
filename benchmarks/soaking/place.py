"""A project of one unit, whose clock runs fast: an hour of events lasts seven seconds, so that a soak sees weeks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from benchmarks.live_stream import repeated
from benchmarks.project_copy import own_project
from benchmarks.topics import private_topics
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.settings import Settings, settings

UNIT, PIPELINE, RAW, TABLE, NEWEST = "soak", "hours", "readings_raw", "hours", "hours_live"
FASTER = 480
"""Seconds of events in one second."""
_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_SENSORS = 8

_TOPIC = f"""\
name: readings
partitions: 4
value:
  event_time: at
  arrival_time: known_at
  event_id: [reading]
  fields:
    reading: {{type: long, required: true}}
    sensor: {{type: string, required: true}}
    at: {{type: timestamp, required: true}}
    known_at: {{type: timestamp, required: true}}
    value: {{type: long, required: true}}
raw: {{table: {RAW}, driver: {UNIT}, retention: 1 day}}
"""
_PIPELINE = f"""\
name: {PIPELINE}
source: readings
transform: hours.sql
time: {{allowed_lateness: 1 hour, arrival_disorder: 1 hour, future_skew: 1 minute}}
outputs:
  - {{kind: intervals, table: {TABLE}, time_column: hour, window: 1 hour, interval: hour, keys: [sensor]}}
  - {{kind: latest, table: {NEWEST}, keys: [hour, sensor], keep: open}}
driver: {UNIT}
trigger: 2 seconds
resources: {{cores: 1, driver_memory: 700m}}
"""
_TRANSFORM = """\
SELECT window.start AS hour, sensor, count(*) AS readings, sum(value) AS total
FROM readings
GROUP BY window(at, '1 hour'), sensor
"""


class Load:
    """Readings at a steady rate, whose times run ahead of the wall clock's.

    Args:
        bootstrap: the broker.
        rate: records per second.
    """

    def __init__(self, bootstrap: str, rate: int) -> None:
        self._producer: Any = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20)
        self._rate = rate
        self.sent = 0

    @property
    def now(self) -> datetime:
        """The time of the newest record (UTC)."""
        return _BEGIN + timedelta(seconds=self.sent / self._rate * FASTER)

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Send while the block runs; then all of it is in Kafka."""
        try:
            with repeated(self._send, self._rate):
                yield
        finally:
            self._producer.flush()

    def _send(self) -> None:
        at, sensor = self.now, f"s{self.sent % _SENSORS}"
        times = {"at": at.isoformat(), "known_at": (at + timedelta(seconds=30)).isoformat()}
        value = {"reading": self.sent, "sensor": sensor, **times, "value": self.sent % 1000}
        self._producer.send("readings", key=sensor.encode(), value=json.dumps(value).encode())
        self.sent += 1


@contextmanager
def soak_place(root: Path) -> Iterator[tuple[Project, str]]:
    """Write the project, start a broker with its topic, and give the project and the broker's address."""
    place = written_project(root)
    with private_topics(root, place.home / "include") as topics:
        write_endpoints(place.folder, Endpoints((topics.bootstrap,), airflow_url=""))
        yield Project.open_strict(place), topics.bootstrap


def written_project(root: Path) -> Settings:
    """Write the project into a folder, and return where it and its state are."""
    files = {
        "include/topics/readings.yaml": _TOPIC,
        f"include/pipelines/{PIPELINE}.yaml": _PIPELINE,
        "spark_jobs/transforms/hours.sql": _TRANSFORM,
        "spark_jobs/batch.py": (settings().home / "spark_jobs" / "batch.py").read_text(encoding="utf-8"),
    }
    own_project(root / "project", files)
    return Settings(home=root / "project", state=root / "state")
