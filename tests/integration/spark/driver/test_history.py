"""What a stream has behind it, read again: from Kafka and from the raw table the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.delta.table import ensure_table
from sluice.intervals.entries import StreamEntry, to_json
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.kafka_source import KafkaTopic, read_between
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.sinks.history import SourceHistory
from sluice.spark.sinks.raw import raw_rows, raw_writer
from tests.integration.spark.conftest import DriverPlace
from tests.oracle import flights


@dataclass(frozen=True)
class Bench:
    """The topic with two days of flights, and a raw table that holds all of it."""

    spark: SparkSession
    code: PipelineCode
    topic: KafkaTopic
    ends: Mapping[str, int]
    raw: Path

    def history(self, raw: Path | None = None) -> SourceHistory:
        return SourceHistory(self.spark, self.code.sources["flights"], self.topic, raw or self.raw)


@pytest.fixture
def bench(place: DriverPlace, spark: SparkSession, two_days: int) -> Bench:
    project = place.project()
    with project.kafka.administration() as administration:
        topic_id = administration.describe(["flights"])["flights"].topic_id
        ends = {f"flights/{number}": end for number, end in administration.ends("flights").items()}
    assert sum(ends.values()) == two_days
    code = pipeline_code(project, spark, project.catalog.pipelines["departures"])
    bench = Bench(spark, code, KafkaTopic(project.kafka.bootstrap(), "flights", topic_id), ends, place.state / "raw")
    rows = raw_rows(read_between(spark, bench.topic, {}, ends), code.sources["flights"].topic)
    ensure_table(bench.raw, rows.schema.json())
    entry = StreamEntry(raw_writer(bench.topic), 1, "", 0, {}, ends)
    rows.write.format("delta").mode("append").option("userMetadata", to_json(entry)).save(str(bench.raw))
    return bench


def test_a_range_of_offsets_holds_the_same_records_in_kafka_and_in_the_raw_table(bench: Bench, tmp_path: Path) -> None:
    half = {partition: end // 2 for partition, end in bench.ends.items()}
    found = [
        {(row["_partition"], row["_offset"], row["_value"]) for row in history.between(half, bench.ends).collect()}
        for history in (bench.history(tmp_path / "none"), bench.history())
    ]
    assert found[0] == found[1]
    assert len(found[0]) == sum(bench.ends.values()) - sum(half.values())


@pytest.mark.verify
def test_the_newest_event_below_an_origin_is_that_of_a_good_record(bench: Bench) -> None:
    newest = flights("2013-01-01", "2013-01-02")["scheduled"].max()
    assert bench.history().newest_before(bench.ends) == newest  # the heartbeat is newer
    early = bench.history().newest_before({**dict.fromkeys(bench.ends, 0), "flights/0": 5})
    assert early is not None
    assert early < datetime(2013, 1, 1, 12, tzinfo=UTC)


def test_a_lineage_that_began_with_the_topic_lacks_nothing(bench: Bench, tmp_path: Path) -> None:
    assert bench.history().newest_before(dict.fromkeys(bench.ends, 0)) is None
    assert bench.history(tmp_path / "none").newest_before(dict.fromkeys(bench.ends, 0)) is None


@pytest.mark.verify
def test_what_the_raw_table_does_not_hold_yet_is_found_in_kafka(bench: Bench, tmp_path: Path) -> None:
    half = {partition: end // 2 for partition, end in bench.ends.items()}
    assert bench.history(tmp_path / "none").newest_before(half) == bench.history().newest_before(half)
