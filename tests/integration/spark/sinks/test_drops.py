"""Records that a capped drain drops: found exactly, also when the driver dies at the worst moment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from sluice.delta.log import read_log
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.entries import DirtyEntry
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import Settings, settings
from sluice.streams.failures.exits import ExitCode
from tests.integration.brokers import free_ports, running
from tests.integration.spark.conftest import DriverPlace, by_airport_and_day, publish_two_days
from tests.oracle import departures, differing_hours

DAYS = ("2013-01-01", "2013-01-02")
CAP = 500


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker whose topic's partitions are far apart in time."""
    broker = BrokerProcess(tmp_path_factory.mktemp("uneven"), *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        publish_two_days(broker.bootstrap, by_airport_and_day)
        yield broker


@pytest.fixture
def capped(uneven: BrokerProcess, tmp_path: Path) -> DriverPlace:
    """A project whose stream reads so little at a time that partitions drift apart in time."""
    place = DriverPlace(tmp_path / "state").with_own_project()
    endpoints = Endpoints(kafka_bootstrap=(uneven.bootstrap,), airflow_url="")
    write_endpoints(Settings(state=place.state).folder, endpoints)
    spec = place.home / "include" / "pipelines" / "departures.yaml"
    spec.write_text(f"{spec.read_text()}max_records_per_batch: {CAP}\n")
    return place


def assert_found_exactly(place: DriverPlace) -> None:
    """The dirty intervals are those that differ from the oracle: no other, and not none."""
    wrong = differing_hours(place.table("departures"), departures(*DAYS))
    rows = place.project().tables.ledger("departures").rows
    assert wrong, "the cap provoked no drop, so nothing was tested"
    assert len(wrong) < len(rows)
    assert {pd.Timestamp(start) for start, row in rows.items() if row.dirty} == wrong


def marks(place: DriverPlace) -> list[DirtyEntry]:
    log = read_log(place.state / "tables" / "departures")
    return [logged.entry for logged in log if isinstance(logged.entry, DirtyEntry)]


@pytest.mark.timeout(600)
def test_the_dirty_intervals_are_exactly_those_that_differ_from_the_oracle(
    capped: DriverPlace, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capped.finish(spark, generation=1) == ExitCode.STOPPED
    assert_found_exactly(capped)
    assert "records dropped at the watermark" in capfd.readouterr().out


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_a_driver_that_dies_after_a_batch_that_dropped_leaves_no_interval_unmarked(capped: DriverPlace) -> None:
    for failpoint in ("after_write_before_commit@departures:2", "before_mark@departures"):
        killed = capped.run(failpoint=failpoint)
        assert killed.returncode == -9, killed.stdout[-2000:]
        assert capped.fired(failpoint)
        assert marks(capped) == []
    finished = capped.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    assert_found_exactly(capped)
    assert len({mark.batch_id for mark in marks(capped)}) == len(marks(capped))
