"""A unit of which one pipeline reads the settled table of the other."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from sluice.delta.reading import read_rows
from sluice.delta.versions import next_version
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.ledger import Ledger
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.unit import run_streams
from sluice.storage.bucket_folder import BucketFolder
from sluice.streams.failures.exits import ExitCode
from tests.buckets import BucketServer
from tests.integration.spark.conftest import DriverPlace, place_at, publish_two_days, two_days_of_values
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.shapes import chained, transforms
from tests.shapes.chained_specs import UPSTREAM, chained_document, days_of
from tests.shapes.oracle import differences, expected
from tests.shapes.specs import pipeline_document

READS = ("GET", "HEAD")
DAYS, SECOND = "days", datetime.fromisoformat("2013-01-03T00:00:00Z")


@pytest.fixture
def linked(own_broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DriverPlace:
    """A project with both pipelines, and a broker with the topic."""
    for name, module in (("shapes", transforms), ("chained", chained)):  # of a driver in this process
        monkeypatch.setitem(sys.modules, f"transforms.{name}", module)
    publish_two_days(own_broker.bootstrap)
    place = place_at(tmp_path / "state", own_broker).with_own_project()
    for file in ("pipelines/departures.yaml", "expectations/departures.yaml"):
        (place.home / "include" / file).unlink()
    for name, document in ((UPSTREAM, pipeline_document(UPSTREAM)), (DAYS, chained_document(DAYS))):
        (place.home / "include" / "pipelines" / f"{name}.yaml").write_text(json.dumps(document))
    for name, file in (("shapes", transforms.__file__), ("chained", chained.__file__)):
        (place.home / "spark_jobs" / "transforms" / f"{name}.py").write_bytes(Path(file).read_bytes())
    return place


def ledger(place: DriverPlace) -> Ledger:
    return place.project().tables.ledger(DAYS)


def assert_settled(place: DriverPlace) -> None:
    hours = expected(UPSTREAM, "2013-01-01", "2013-01-02")
    wanted = days_of(hours)[lambda days: days["at"] < pd.Timestamp(SECOND)]
    assert ledger(place).closed_until == SECOND
    rows = read_rows(place.project().folder.table(DAYS)).to_pandas()
    assert differences(DAYS, rows, wanted) == []
    assert not any(row.dirty for row in ledger(place).spans)


def raw_values(bucket: BucketFolder) -> list[bytes | None]:
    return list(read_rows(bucket / "tables" / "flights_raw").to_pandas()["value"])


def is_settled(place: DriverPlace) -> bool:
    return ledger(place).closed_until == SECOND


@pytest.mark.verify
@pytest.mark.timeout(400)
def test_days_follow_the_hours_that_the_same_driver_settles(linked: DriverPlace) -> None:
    with linked.driver(1) as running:
        running.eventually(lambda: is_settled(linked), "settles the days")
        assert running.stop() == ExitCode.STOPPED
    assert_settled(linked)
    project = linked.project()
    newest = project.streams.checkpoint(DAYS).read().newest
    assert newest is not None
    assert set(newest.offsets) == {"table:hours/0"}
    assert 0 < newest.offsets["table:hours/0"] <= next_version(linked.state / "tables" / UPSTREAM)
    assert project.streams.epochs(DAYS).topics == ("table:hours",)
    seen = project.health.observations("flights")[DAYS]
    assert seen.notes == ()
    assert seen.lag_records is not None


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.proves("bucket-fails")
def test_days_follow_the_hours_in_a_bucket_whose_answers_are_late_and_lost(
    linked: DriverPlace, store: BucketServer, faults: FaultRecorder
) -> None:
    bucket = store.new_bucket() / "of sluice"
    deployment = linked.home / "include" / "deployments" / "local.yaml"
    deployment.write_text(f"{deployment.read_text()}storage: {bucket}\n")
    reads = [{"kind": "refuse", "method": method, "contains": "hours/_delta_log", "share": 0.05} for method in READS]
    store.make_faults(*reads, {"kind": "lose", "contains": "days/_delta_log", "share": 0.2})
    with linked.driver(1) as running:
        running.eventually(lambda: is_settled(linked), "settles the days")
        assert running.stop() == ExitCode.STOPPED
    made = store.faults_made()
    assert made.get("refuse", 0) > 0
    faults.struck(f"the bucket says what it did: {made}")
    faults.counted(Census.of(two_days_of_values(), raw_values(bucket)))
    assert_settled(linked)
    newest = linked.project().streams.checkpoint(DAYS).read().newest
    assert newest is not None
    assert 0 < newest.offsets["table:hours/0"] <= next_version(bucket / "tables" / UPSTREAM)
    assert not (linked.state / "tables").exists()


@pytest.mark.verify
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kill", ["before_write", "after_write_before_commit"])
def test_a_driver_that_dies_at_a_settlement_of_days_loses_and_doubles_nothing(
    linked: DriverPlace, spark: SparkSession, kill: str
) -> None:
    failpoint = f"{kill}@{DAYS}"
    generation = 1
    while not linked.fired(failpoint):  # a run to the end of the topic may end before the hours have come that far
        died: subprocess.CompletedProcess[str] = linked.run(generation=generation, failpoint=failpoint)
        assert generation < 4, died.stderr[-3000:]
        generation += 1
    assert linked.finish(spark, generation=generation) is ExitCode.STOPPED
    assert linked.finish(spark, generation=generation + 1) is ExitCode.STOPPED
    assert_settled(linked)


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_unit_without_topics_settles_what_another_one_has_settled(linked: DriverPlace, spark: SparkSession) -> None:
    spec = linked.home / "include" / "pipelines" / f"{DAYS}.yaml"
    spec.write_text(json.dumps({**chained_document(DAYS), "driver": "reports"}))
    reports = run_unit(linked, spark, "reports", 1)
    assert reports is ExitCode.STOPPED, "there is no table yet, and nothing to settle"
    assert ledger(linked).closed_until is None
    assert linked.finish(spark, generation=1) is ExitCode.STOPPED
    assert run_unit(linked, spark, "reports", 2) is ExitCode.STOPPED
    assert_settled(linked)


def run_unit(place: DriverPlace, spark: SparkSession, unit: str, generation: int) -> ExitCode:
    return run_streams(place.project(), spark, unit, generation, available_now=True, exit_report=ExitReport())
