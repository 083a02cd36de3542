"""What Spark tests share: real drivers in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.delta.reading import read_rows
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.local.broker import Broker
from sluice.local.endpoints import Endpoints, write_endpoints
from sluice.project import Project
from sluice.settings import Settings, settings
from sluice.spark.failpoints import marker
from sluice.specs.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.topics.administration import TopicCreation
from tests.integration.spark.backfills import Drained
from tests.oracle import flights

BAD_VALUES = {
    "tombstone": None,
    "empty": b"",
    "malformed": b"\xff\x00 no json",
    "wrong_type": b'{"flight_id": "seven", "carrier": "AA"}',
    "missing_field": b'{"flight_id": 7}',
}


@dataclass(frozen=True)
class DriverPlace:
    """A private state folder in which drivers of the unit `flights` run against the shared broker.

    Attributes:
        state: the folder.
        home: the project whose specs and transforms they run.
    """

    state: Path
    home: Path = field(default_factory=lambda: settings().home)

    def with_own_project(self) -> DriverPlace:
        """Return the place with a copy of the project, to be edited."""
        home = self.state.parent / "project"
        for part in ("include", "spark_jobs"):
            shutil.copytree(self.home / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
        return DriverPlace(self.state, home)

    def project(self) -> Project:
        """Return the project in this state folder."""
        return Project.open(Settings(home=self.home, state=self.state))

    def run(self, *, generation: int = 1, failpoint: str = "", master: str = "") -> subprocess.CompletedProcess[str]:
        """Run a driver until it has read everything, or until the failpoint kills it.

        Args:
            generation: the attempt's.
            failpoint: where it dies; empty: nowhere.
            master: where it finds its cores; empty: on this machine, or where the stack of this state folder says.
        """
        places = {"SLUICE_HOME": str(self.home), "SLUICE_STATE": str(self.state), "SLUICE_SPARK_MASTER": master}
        environment = {**os.environ, **places, "SLUICE_FAILPOINT": failpoint}
        main = self.home / "spark_jobs" / "stream.py"
        arguments = ["--unit", "flights", "--generation", str(generation), "--available-now"]
        return subprocess.run(
            [sys.executable, str(main), *arguments],
            env=environment,
            start_new_session=True,  # a driver leads its process group, as under a keeper
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    def fired(self, failpoint: str) -> bool:
        """Whether the failpoint left its proof."""
        return marker(Settings(state=self.state, failpoint=failpoint)).exists()

    def table(self, name: str) -> pd.DataFrame:
        """Read a Delta table as any reader would, without Spark."""
        return read_rows(self.state / "tables" / name).to_pandas()


@pytest.fixture(scope="session")
def two_days(broker: Broker) -> int:
    """Publish two days of flights, one record of each bad kind, and the heartbeat; return the number of records."""
    return publish_two_days(broker.bootstrap)


def publish_two_days(bootstrap: str, partition_of: Callable[[Mapping[str, object]], int | None] | None = None) -> int:
    """Create the topic and fill it; return the number of records.

    Args:
        bootstrap: host:port of a broker that has no topic `flights` yet.
        partition_of: says where a flight goes; without it, its carrier does.
    """
    with KafkaPythonAdministration((bootstrap,), {}) as administration:
        administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
    table = flights("2013-01-01", "2013-01-02")
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for value in values_of(table):
        key, partition = str(value["carrier"]).encode(), partition_of(value) if partition_of else None
        producer.send("flights", key=key, value=json.dumps(value).encode(), partition=partition)
    for kind, bad in BAD_VALUES.items():
        producer.send("flights", key=kind.encode(), value=bad)
    closes_all = (table["hour_utc"].max() + pd.Timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    heartbeat = {"heartbeat": True, "scheduled_at": closes_all, "observed_at": closes_all}
    producer.flush()
    producer.send("flights", value=json.dumps(heartbeat).encode(), partition=0)
    producer.close()
    return len(table) + len(BAD_VALUES) + 1


def by_airport_and_day(flight: Mapping[str, object]) -> int:
    """Give one carrier's second day its own partition: a capped stream reads it together with the first day."""
    if flight["carrier"] == "UA" and str(flight["scheduled_at"]) >= "2013-01-02":
        return 3
    return {"EWR": 0, "JFK": 1, "LGA": 2}[str(flight["origin"])]


def values_of(table: pd.DataFrame) -> list[dict[str, object]]:
    observed = table["scheduled"] + pd.to_timedelta(table["dep_delay"].fillna(0), unit="min")
    rows = table.assign(observed=observed).sort_values("observed", kind="stable")
    form = "%Y-%m-%dT%H:%M:%SZ"
    values: list[dict[str, object]] = []
    for number, row in zip(rows.index, rows.itertuples(index=False), strict=True):
        departed = not pd.isna(row.dep_time)
        value = {"flight_id": number, "carrier": row.carrier, "flight": 1, "origin": row.origin, "dest": "LAX"}
        value |= {"scheduled_at": row.scheduled.strftime(form), "observed_at": row.observed.strftime(form)}
        value |= {"cancelled": not departed}
        if departed:
            value |= {"departed_at": row.observed.strftime(form), "dep_delay_min": int(row.dep_delay)}
        values.append(value)
    return values


@pytest.fixture
def place(broker: Broker, tmp_path: Path) -> DriverPlace:
    """An empty state folder that knows the broker."""
    place = DriverPlace(tmp_path / "state")
    write_endpoints(Settings(state=place.state).folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
    return place


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The shipped specs."""
    return load_catalog(settings().home / "include")


@pytest.fixture(scope="session")
def drained_state(broker: Broker, two_days: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder in which a driver has read everything; tests copy it."""
    assert two_days
    place = DriverPlace(tmp_path_factory.mktemp("drained") / "state")
    write_endpoints(Settings(state=place.state).folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
    finished = place.run()
    assert finished.returncode == 0, finished.stdout[-2000:]
    return place.state


@pytest.fixture
def drained(drained_state: Path, tmp_path: Path, spark: SparkSession) -> Drained:
    """A private copy of the drained state."""
    return Drained.copy(drained_state, tmp_path / "copy", spark)
