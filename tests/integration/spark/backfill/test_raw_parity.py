"""A raw table that does not hold what its topic holds: only the comparison with Kafka can find it, and it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from kafka import KafkaProducer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.raw.raw_records import DeltaRawRecords
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.conservation import StoredRecord, compare_with_kafka
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.raw_parity import RawFaultKind, RawParity
from sluice.intervals.backfill.request import Mode
from sluice.intervals.reach import RawPosition, Reach
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.stored_records import KafkaPythonStoredRecords
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.spark.records.kafka_source import KafkaTopic, read_between
from sluice.spark.sinks import raw
from sluice.spark.sinks.raw import raw_rows
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.streams import raw_stream
from sluice.specs.model.model import TopicSpec
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.spark.backfill.backfills import RANGE, Drained
from tests.integration.spark.conftest import DriverPlace

pytestmark = pytest.mark.timeout(900)


def stored(bootstrap: str, topic: str) -> KafkaPythonStoredRecords:
    return KafkaPythonStoredRecords([bootstrap], {}, topic, patience_seconds=10)


def everything(bootstrap: str, topic: str) -> dict[tuple[int, int], StoredRecord]:
    """Return all committed records by partition and offset."""
    with stored(bootstrap, topic) as kafka:
        held = {partition: [span] for partition, span in kafka.held().ranges.items()}
        return {(partition, offset): record for partition, offset, record in kafka.records(held)}


def flights_on_time(records: dict[tuple[int, int], StoredRecord]) -> Iterator[tuple[int, int]]:
    """Yield where records are that each make a row greater by one."""
    for place, record in sorted(records.items()):
        try:
            value = json.loads(record.value or b"")
        except ValueError:
            continue
        if isinstance(value, dict) and 0 < value.get("dep_delay_min", -1) < 60 and value["scheduled_at"]:
            yield place


def broken(records: DataFrame, topic: TopicSpec, *, lost: tuple[int, int], altered: tuple[int, int]) -> DataFrame:
    """The raw sink, but one record never reaches its table, and of another one a byte is wrong."""

    def at(place: tuple[int, int]) -> F.Column:
        return (F.col("partition") == place[0]) & (F.col("offset") == place[1])

    wrong = F.regexp_replace(F.col("value").cast("string"), '"dest": "LAX"', '"dest": "LAZ"').cast("binary")
    rows = raw_rows(records, topic).where(~at(lost))
    return rows.withColumn("value", F.when(at(altered), wrong).otherwise(F.col("value")))


@pytest.fixture
def places(broker: BrokerProcess, two_days: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where the sink loses a record in the midst of a partition, and where it alters one at the end of another."""
    records = everything(broker.bootstrap, "flights")
    assert len(records) == two_days
    sizes = {p: sum(partition == p for partition, _ in records) for p, _ in records}
    largest = max(sizes, key=lambda partition: sizes[partition])
    own = [place for place in flights_on_time(records) if place[0] == largest]
    altered = next(place for place in sorted(records) if place[0] != largest and place[1] == 0)
    return own[len(own) // 2], altered


@pytest.fixture
def sabotaged(
    place: DriverPlace,
    spark: SparkSession,
    places: tuple[tuple[int, int], tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> Drained:
    """A state folder in which a driver with such a sink has read everything."""
    lost, altered = places
    with monkeypatch.context() as patched:
        patched.setattr(raw, "raw_rows", partial(broken, lost=lost, altered=altered))
        assert place.finish(spark, generation=1) is ExitCode.STOPPED
    return Drained(place.state, spark, place.project())


def test_a_sink_that_loses_one_record_and_alters_another_is_convicted_by_nothing_but_kafka(
    sabotaged: Drained, places: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    (lost, altered), drained = places, sabotaged
    result = drained.run(Mode.VERIFY)
    assert (result.outcome, result.passed) == (ParityOutcome.RAW_MISMATCH, False)
    assert result.report is not None
    assert {parity.outcome for parity in result.report.intervals} == {ParityOutcome.IDENTICAL}, "nothing else finds it"
    found = result.report.raw
    assert found is not None
    assert found.faults == {RawFaultKind.LOST: 1, RawFaultKind.ALTERED: 1}
    named = {(fault.kind, fault.partition, fault.offset, fault.parts) for fault in found.examples}
    assert named == {
        (RawFaultKind.LOST, f"flights/{lost[0]}", lost[1], ()),
        (RawFaultKind.ALTERED, f"flights/{altered[0]}", altered[1], ("value",)),
    }
    assert f"flights/{lost[0]} offset {lost[1]} lost" in result.why
    assert not any(row.verified_by(drained.code.code_hash) for row in drained.ledger.rows.values())
    report = json.loads((drained.project.folder.backfill(result.backfill) / "parity.json").read_text())
    assert report["raw"]["faults"] == {"lost": 1, "altered": 1}
    corrected = drained.run(Mode.CORRECT)
    assert (corrected.outcome, corrected.published) == (ParityOutcome.RAW_MISMATCH, ())


@pytest.mark.verify
def test_by_the_steps_of_the_runbook_the_raw_table_and_the_intervals_are_whole_again(
    place: DriverPlace, sabotaged: Drained
) -> None:
    drained, folder = sabotaged, sabotaged.project.folder
    for path in (folder.table("flights_raw"), folder.checkpoint(raw_stream("flights"))):
        path.rename(path.with_name(f"{path.name}_broken"))
    assert place.finish(drained.spark, generation=2) is ExitCode.STOPPED
    verified = drained.run(Mode.VERIFY)
    assert verified.outcome == ParityOutcome.DIFFERENT, "the interval was settled without the record"
    assert verified.report is not None
    assert verified.report.raw is not None
    assert verified.report.raw.sound
    assert [p.outcome for p in verified.report.intervals].count(ParityOutcome.DIFFERENT) == 1
    assert drained.run(Mode.RECOMPUTE, why="the raw table was read again").passed
    assert drained.run(Mode.VERIFY).outcome == ParityOutcome.IDENTICAL


@pytest.mark.verify
def test_a_sound_table_is_compared_and_a_dead_cluster_is_said(drained: Drained) -> None:
    result = drained.run(Mode.VERIFY)
    assert result.outcome == ParityOutcome.IDENTICAL
    assert result.report is not None
    found = result.report.raw
    assert found is not None
    assert (found.partitions, found.idle, found.known, found.no_records, found.gone) == (4, 0, 0, 0, 0)
    assert (found.unchecked, found.unheld, found.not_compared) == (0, 0, "")
    assert 1_000 < found.compared <= found.offsets
    page = (drained.project.folder.backfill(result.backfill) / "parity.html").read_text()
    assert f"{found.compared:,} records compared with Kafka byte by byte" in page

    write_endpoints(drained.project.folder, Endpoints(kafka_bootstrap=("127.0.0.1:1",), airflow_url=""))
    alone = drained.run(Mode.VERIFY)
    assert alone.outcome == ParityOutcome.IDENTICAL
    assert alone.report is not None
    assert alone.report.raw is not None
    assert alone.report.raw.compared == 0
    assert "No Kafka broker could be reached" in alone.report.raw.not_compared
    assert "not compared with Kafka" in (drained.project.folder.backfill(alone.backfill) / "parity.html").read_text()


@pytest.mark.verify
def test_transactions_leave_gaps_that_are_no_fault(
    broker: BrokerProcess, topic_name: str, spark: SparkSession, catalog: Catalog, tmp_path: Path
) -> None:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(topic_name, 2, 1, {"retention.ms": "-1"})])
        send_in_transactions(broker.bootstrap, topic_name)
        extent = administration.extent(topic_name)
    source = KafkaTopic((broker.bootstrap,), topic_name, extent.topic_id, partitions=2)
    ends = {f"{topic_name}/{partition}": end for partition, end in extent.ends.items()}
    rows = raw_rows(read_between(spark, source, {}, ends), catalog.topics["flights"])
    whole, lacking = tmp_path / "whole", tmp_path / "lacking"
    rows.withColumn("event_time", F.lit(RANGE.start)).write.format("delta").save(str(whole))
    kept = spark.read.format("delta").load(str(whole)).where("NOT (partition = 1 AND offset = 9)")
    kept.write.format("delta").save(str(lacking))

    def compared(folder: Path) -> RawParity:
        with stored(broker.bootstrap, topic_name) as kafka:
            position = RawPosition(0, Reach(ends, (extent.topic_id,)))
            records = DeltaRawRecords(folder, 0)
            return compare_with_kafka(records, lambda: kafka, position, [RANGE], topic=topic_name, seed="s")

    found = compared(whole)
    records = everything(broker.bootstrap, topic_name)
    assert (found.faults, found.gone, found.unchecked, found.compared) == ({}, 0, 0, len(records))
    assert found.no_records == sum(extent.ends.values()) - len(records) > 60
    convicted = compared(lacking)
    assert convicted == replace(
        found, faults={RawFaultKind.LOST: 1}, examples=convicted.examples, compared=found.compared - 1
    )
    assert [(fault.partition, fault.offset) for fault in convicted.examples] == [(f"{topic_name}/1", 9)]


def send_in_transactions(bootstrap: str, topic: str) -> None:
    """Send committed and aborted transactions of some records each, the last of them aborted."""
    producer = KafkaProducer(bootstrap_servers=[bootstrap], transactional_id=topic)
    producer.init_transactions()
    try:
        for number in range(20):
            producer.begin_transaction()
            for record in range(6):
                producer.send(
                    topic, key=b"k", value=b'{"n":%d}' % record, headers=[("h", b"\xff")], partition=record % 2
                )
            producer.flush()
            (producer.abort_transaction if number % 3 == 1 else producer.commit_transaction)()
    finally:
        producer.close(timeout=5)
