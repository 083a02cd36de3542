"""Real drivers that end by themselves: nothing is lost between an end and the next driver, and nothing comes twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.spark.driver import driver as driver_module
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.stream_run import Stream, StreamRun
from sluice.spark.driver.unit_streams import unit_streams
from sluice.spark.records.table_versions import version_stream
from sluice.specs.model.schedule import RunPlan
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.life.launcher import Launcher
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.integration.spark.driver.test_exactly_once import EXPECTED, assert_exact
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences
from tests.waiting import eventually

SOON = RunPlan(None, timedelta(seconds=15))


def run_with(place: DriverPlace, spark: SparkSession, generation: int, plan: RunPlan) -> ExitCode:
    """Run the streams of a unit by a plan whose times are shorter than a spec may say."""
    project = place.project()
    unit = replace(project.catalog.units()[place.unit], plan=plan)
    return Driver(unit_streams(project, spark, unit, generation), {}, plan=plan).run()


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.proves("idle-end-raced")
def test_records_that_come_between_the_decision_to_end_and_the_end_are_read_once_by_the_next_driver(
    tmp_path: Path,
    own_broker: BrokerProcess,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    faults: FaultRecorder,
) -> None:
    place, feed = place_at(tmp_path / "state", own_broker), Feed(own_broker.bootstrap)
    feed.send(0.4)
    decided: list[str] = []

    def more_comes(name: str, _table: str) -> None:
        decided.append(name)
        feed.send_rest()

    monkeypatch.setattr(driver_module, "failpoint", more_comes)
    assert run_with(place, spark, 1, SOON) is ExitCode.IDLE
    assert decided == ["after_idle_decision"]
    read = len(place.table("flights_raw"))
    assert read <= feed.sent
    faults.struck(f"the place {decided[0]} was passed; records came there, and the driver ended as IDLE")

    monkeypatch.undo()
    assert run_with(place, spark, 2, SOON) is ExitCode.IDLE
    faults.recovered()
    faults.counted(place.census(feed.sent_values))
    assert_exact(place, feed.sent)


def completes(launcher: Launcher, key: str) -> None:
    """Wait until a driver ends, and make sure that it ended as its schedule says."""
    eventually(lambda: launcher.find(key).dead, "it goes on", seconds=300)
    assert launcher.find(key).exit_code == ExitCode.COMPLETED, launcher.log(key).read_text()[-3000:]


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_runs_of_a_schedule_read_what_is_there_settle_it_and_end_and_the_verdict_says_so(
    tmp_path: Path,
    own_broker: BrokerProcess,
) -> None:
    place, feed = place_at(tmp_path / "state", own_broker).with_own_project(), Feed(own_broker.bootstrap)
    spec = place.home / "include" / "pipelines" / "departures.yaml"
    spec.write_text(
        spec.read_text().replace("keep: open", "keep: all").replace("trigger: 2 seconds", "schedule: 1 hour")
    )
    life, launcher = place.project().streams.life("flights"), place.project().processes.launcher()
    for generation, send in ((1, lambda: feed.send(0.4)), (2, feed.send_rest)):
        send()
        claim = life.start("test", "by hand, beside the schedule")
        assert claim.attempt is not None, claim.why
        assert claim.attempt.generation == generation
        completes(launcher, claim.attempt.key)
        assert len(place.table("flights_raw")) == feed.sent
        life.record_end()
    assert differences(place.table("departures"), departures(*EXPECTED)) == []
    status = life.observe()
    assert status.attempt is not None
    assert status.attempt.failure is FailureClass.COMPLETED
    verdicts = place.project().health.verdicts("flights")
    assert {verdict.health for verdict in verdicts.values()} == {Health.SCHEDULED}, verdicts
    assert all("scheduled, next at" in verdict.why.lower() for verdict in verdicts.values())


@pytest.mark.verify
def test_a_query_that_reads_no_rows_is_idle_only_while_no_version_comes(spark: SparkSession, tmp_path: Path) -> None:
    table, batches = tmp_path / "hours", list[int]()
    rows = version_stream(spark, "table:hours", table, StructType([StructField("nothing", LongType())]))
    stream = Stream("days", rows, lambda _rows, number: batches.append(number), tmp_path / "checkpoint", 0.5)
    run = StreamRun(stream, None, available_now=False, clock=SystemClock())

    def idle() -> bool:
        run.report()
        return run.idle

    run.start()
    try:
        eventually(idle, "it rests while there is no table")
        read = len(batches)
        write_deltalake(str(table), pa.table({"value": [1]}))
        eventually(lambda: len(batches) > read, "the version brings a batch")
        assert not idle()
        eventually(idle, "it rests again", seconds=60)
    finally:
        run.interrupt()
