"""A producer that begins to write something else: the pipeline's stream stops, and the raw stream keeps everything."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.quality.breaker import Rejected, Tally
from sluice.quality.reasons import Reason
from sluice.spark.records.pipeline import PipelineCode, sources_of
from sluice.spark.sinks.breaker import tally_of
from sluice.specs.catalog.catalog import Catalog
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.driver_files import ended_alone
from sluice.streams.position.checkpoint import Checkpoint
from tests.editing import edit
from tests.integration.spark.conftest import Feed, place_at
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences

DRIFTED = [{"flight_id": str(number), "carrier": "AA"} for number in range(300)]


def send(broker: BrokerProcess, values: list[dict[str, str]]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for number, value in enumerate(values):
        producer.send("flights", value=json.dumps(value).encode(), partition=number % 4)
    producer.close()


def test_a_tally_says_how_many_each_reason_refuses_and_where(spark: SparkSession, catalog: Catalog) -> None:
    pipeline = catalog.pipelines["departures"]
    code = PipelineCode(pipeline, sources_of(pipeline, catalog.topics, {}), {}, "")
    at = datetime(2013, 1, 1, tzinfo=UTC)
    rows = [(number % 2, number, bytearray(b"" if number % 3 else b"{}"), at) for number in range(12)]
    records = spark.createDataFrame(rows, "_partition int, _offset long, _value binary, _timestamp timestamp")
    found = tally_of({"flights": records}, code)
    assert (found.records, found.share) == (12, 1.0)
    assert set(found.rejected) == {
        Rejected(Reason.EMPTY, "flights/0", 4, 2, 10),
        Rejected(Reason.EMPTY, "flights/1", 4, 1, 11),
        Rejected(Reason.MISSING_FIELD, "flights/0", 2, 0, 6),
        Rejected(Reason.MISSING_FIELD, "flights/1", 2, 3, 9),
    }
    assert tally_of({"flights": records.where("_offset < 0")}, code) == Tally(0)


@pytest.mark.verify
@pytest.mark.timeout(900)
@pytest.mark.proves("schema-drift")
def test_the_stream_stops_before_the_batch_and_the_raw_stream_goes_on(
    own_broker: BrokerProcess, tmp_path: Path, faults: FaultRecorder
) -> None:
    feed = Feed(own_broker.bootstrap)
    feed.send(0.5)
    place = place_at(tmp_path / "state", own_broker)
    guarded = place.with_departures("circuit_breaker: {share: 0.5, records: 50}")
    assert guarded.run(generation=1).returncode == ExitCode.STOPPED
    checkpoints = [place.state / "checkpoints" / name for name in ("departures", "departures_live")]
    before = [Checkpoint(folder).newest_committed() for folder in checkpoints]
    files = [guarded.project().folder.progress_file(name) for name in ("departures", "departures_live")]

    send(own_broker, DRIFTED)  # before anybody reads, so that one batch has them all
    with guarded.driver(generation=2) as driver:
        driver.eventually(lambda: all(ended_alone(file, 2) for file in files), "ends both streams of the pipeline")
        sent = feed.send(0.1) + len(DRIFTED)
        driver.eventually(lambda: len(guarded.table("flights_raw")) == sent, "keeps what comes meanwhile")
        assert driver.stop() == ExitCode.STOPPED
    said = ended_alone(files[0], 2)
    assert said is not None
    assert said.kind is FailureClass.SCHEMA_DRIFT
    assert "300 of 300 records (100%) are quarantined" in said.message
    faults.struck(f"{said.kind}: {said.message}")
    assert "300 wrong_type" in said.message
    assert [Checkpoint(folder).newest_committed() for folder in checkpoints] == before

    feed.send_rest()
    again = guarded.run(generation=3)
    assert again.returncode == ExitCode.SCHEMA_DRIFT, again.stdout[-2000:]
    assert len(guarded.table("flights_raw")) == feed.sent + len(DRIFTED)
    assert [Checkpoint(folder).newest_committed() for folder in checkpoints] == before

    edit(guarded.home / "include/pipelines/departures.yaml", "circuit_breaker: {share: 0.5, records: 50}\n", "")
    allowed = guarded.run(generation=4)
    assert allowed.returncode == ExitCode.STOPPED, allowed.stdout[-2000:]
    faults.recovered()
    faults.counted(guarded.census([*feed.sent_values, *(json.dumps(value).encode() for value in DRIFTED)]))
    assert differences(guarded.table("departures"), departures("2013-01-01", "2013-01-02")) == []
