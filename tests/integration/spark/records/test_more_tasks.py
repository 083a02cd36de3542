"""A batch of a raw stream in more tasks than its topic has partitions: each record once, whatever dies in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaProducer
from pyspark.sql import DataFrame, SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.spark.records.kafka_source import KafkaTopic, read_stream
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.spark.conftest import DriverPlace
from tests.integration.spark.driver.test_exactly_once import assert_exact, with_setting, written_by_spark

PARTITIONS, EACH, BATCH = 2, 1_500, 2_000
WRITTEN_BY_SPARK = 'spark.sluice.collect.records: "0"'


@pytest.mark.timeout(300)
@pytest.mark.parametrize("asked_and_cut", [(None, PARTITIONS), (1, PARTITIONS), (8, 8)])
def test_tasks_share_a_partition_by_ranges_of_offsets_and_read_each_record_once(
    spark: SparkSession, broker: BrokerProcess, topic_name: str, tmp_path: Path, asked_and_cut: tuple[int | None, int]
) -> None:
    asked, tasks_of_each = asked_and_cut
    topic = filled_topic(broker, topic_name)
    batches: list[tuple[int, list[tuple[int, int]]]] = []

    def note(rows: DataFrame, _: int) -> None:
        found = [(row._partition, row._offset) for row in rows.select("_partition", "_offset").collect()]
        batches.append((rows.rdd.getNumPartitions(), found))

    query = (
        read_stream(spark, topic, most=BATCH, tasks=asked)
        .writeStream.foreachBatch(note)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)

    assert {tasks for tasks, _ in batches} == {tasks_of_each}
    read = [record for _, found in batches for record in found]
    assert len(read) == PARTITIONS * EACH
    assert set(read) == {(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)}
    for _, found in batches:  # what a settler or a backfill sees of a batch is a whole range of each partition
        for partition in range(PARTITIONS):
            offsets = sorted(offset for number, offset in found if number == partition)
            assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))


def filled_topic(broker: BrokerProcess, name: str) -> KafkaTopic:
    """Create a topic whose partitions have the same number of records."""
    with KafkaPythonAdministration([broker.bootstrap], {}) as administration:
        administration.create([TopicCreation(name, PARTITIONS, 1)])
        topic_id = administration.describe([name])[name].topic_id
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for number in range(PARTITIONS * EACH):
        producer.send(name, value=str(number).encode(), partition=number % PARTITIONS)
    producer.close()
    return KafkaTopic((broker.bootstrap,), name, topic_id, {}, PARTITIONS)


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_kills_between_batches_of_many_tasks_lose_and_repeat_nothing(place: DriverPlace, two_days: int) -> None:
    own = with_setting(place, WRITTEN_BY_SPARK)
    for tasks, failpoint in ((16, "mid_write@flights_raw"), (5, "after_write_before_commit@flights_raw")):
        cut(own, tasks)
        killed = own.run(failpoint=failpoint)
        assert killed.returncode == -9, killed.stdout[-2000:]
        assert own.fired(failpoint)
    cut(own, 16)
    finished = own.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    assert_exact(own, two_days)
    assert written_by_spark(own, "flights_raw")
    assert len(list((own.state / "tables" / "flights_raw").glob("*.parquet"))) > len(set(raw_partitions(own)))


def cut(place: DriverPlace, tasks: int) -> None:
    """Say into how many tasks the raw stream cuts its batches."""
    spec = place.home / "include" / "topics" / "flights.yaml"
    before, raw, after = spec.read_text().partition("raw:\n")
    kept = "".join(line for line in after.splitlines(keepends=True) if "min_partitions" not in line)
    spec.write_text(f"{before}{raw}  min_partitions: {tasks}\n{kept}")


def raw_partitions(place: DriverPlace) -> list[int]:
    return [int(number) for number in place.table("flights_raw")["partition"]]
