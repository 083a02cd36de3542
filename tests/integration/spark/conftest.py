"""What Spark tests share: one session in this process, and real drivers in processes of their own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.kafka.administration import KafkaPythonAdministration
from sluice.local.broker import Broker
from sluice.local.endpoints import Endpoints, write_endpoints
from sluice.settings import Settings, settings
from sluice.spark.failpoints import marker
from sluice.spark.session import session
from sluice.specs.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model import Resources
from sluice.topics.administration import TopicCreation
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
    """A private state folder in which drivers of the unit `flights` run against the shared broker."""

    state: Path

    def run(self, *, generation: int = 1, failpoint: str = "") -> subprocess.CompletedProcess[str]:
        """Run a driver until it has read everything, or until the failpoint kills it."""
        environment = {**os.environ, "SLUICE_STATE": str(self.state), "SLUICE_FAILPOINT": failpoint}
        main = settings().home / "spark_jobs" / "stream.py"
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
        return DeltaTable(str(self.state / "tables" / name)).to_pandas()


@pytest.fixture(scope="session")
def two_days(broker: Broker) -> Iterator[int]:
    """Publish two days of flights, one record of each bad kind, and the heartbeat; return the number of records."""
    administration = KafkaPythonAdministration((broker.bootstrap,), {})
    administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
    table = flights("2013-01-01", "2013-01-02")
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for value in _values(table):
        producer.send("flights", key=value["carrier"].encode(), value=json.dumps(value).encode())
    for kind, value in BAD_VALUES.items():
        producer.send("flights", key=kind.encode(), value=value)
    closes_all = (table["hour_utc"].max() + pd.Timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    heartbeat = {"heartbeat": True, "scheduled_at": closes_all, "observed_at": closes_all}
    producer.flush()
    producer.send("flights", value=json.dumps(heartbeat).encode(), partition=0)
    producer.close()
    yield len(table) + len(BAD_VALUES) + 1
    administration.close()


def _values(table: pd.DataFrame) -> list[dict[str, object]]:
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
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests that run inside this process."""
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it would speak after pytest has closed its output
    warehouse = tmp_path_factory.mktemp("warehouse")
    spark = session("tests", Resources(), jars=settings().jars / "spark", warehouse=warehouse)
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The shipped specs."""
    return load_catalog(settings().home / "include")
