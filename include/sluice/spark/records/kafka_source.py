"""Records from Kafka, under the names that validation and the raw table use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.intervals.reach import topic_name
from sluice.kafka.client.java_client import java_settings
from sluice.kafka.client.stream_options import KAFKA_READ, KAFKA_SOURCE
from sluice.streams.position.epochs import joined_ids


@dataclass(frozen=True)
class KafkaTopic:
    """A topic to read.

    Attributes:
        bootstrap: host:port of some brokers.
        name: the topic.
        topic_id: the cluster's UUID of it, which tells a recreated topic from the old one.
        options: further client settings, under Kafka's names, as a deployment spells them.
        partitions: how many it has.
    """

    bootstrap: tuple[str, ...]
    name: str
    topic_id: str
    options: Mapping[str, str] = field(default_factory=dict)
    partitions: int = 0

    @property
    def spark_options(self) -> dict[str, str]:
        """How Spark reaches it: options of its source and its sink."""
        client = {f"kafka.{key}": value for key, value in java_settings(self.options).items()}
        return {**client, "kafka.bootstrap.servers": ",".join(self.bootstrap)}


def identity_of(topics: Sequence[KafkaTopic], tables: Sequence[str] = ()) -> str:
    """Return what names all that one stream reads: ids of topics, and so another one if any is created again.

    Of a settled table it is the name: the table need not be there yet, and what was read of it its reader's log says.
    """
    return joined_ids([*(topic.topic_id for topic in topics), *tables])


EARLIEST = -2
"""How Spark's offsets spell the first record that there is."""


def read_stream(
    spark: SparkSession,
    topic: KafkaTopic,
    *,
    start: Mapping[str, int] | None = None,
    most: int | None = None,
    tasks: int | None = None,
    preset: Mapping[str, str] = KAFKA_SOURCE,
) -> DataFrame:
    """Return the topic as a stream.

    Columns: `_topic_id` string, `_partition` int, `_offset` long, `_timestamp` timestamp, `_key` and `_value` binary,
    `_headers` array of (key, value).

    Args:
        spark: the session.
        topic: what to read.
        start: first offset per `topic/partition` for a checkpoint that has read nothing; a partition that is missing,
            and without it all, begin at their first record.
        most: records per batch; None for all there are: a cap lets partitions drift apart in time.
        tasks: into how many tasks a batch is cut at least; None for one per partition. With more, several tasks have
            ranges of one partition, in any order: what is written by tasks, and not by offset, loses their order.
        preset: options over which those of the topic win.
    """
    options = {
        "subscribe": topic.name,
        "startingOffsets": _starting(topic, start) if start else "earliest",
        **({} if most is None else {"maxOffsetsPerTrigger": str(most)}),
        **({} if tasks is None else {"minPartitions": str(tasks)}),
    }
    return _named(spark.readStream.format("kafka").options(**_client(topic, preset), **options).load(), topic)


def read_streams(
    spark: SparkSession,
    topics: Sequence[KafkaTopic],
    *,
    start: Mapping[str, int] | None = None,
    most: int | None = None,
    preset: Mapping[str, str] = KAFKA_SOURCE,
) -> dict[str, DataFrame]:
    """Return topics as streams, by their names; see `read_stream`.

    Each is a source of its own in the query's checkpoint, so that none is read for another's sake.
    """
    starts = {topic.name: None if start is None else own_offsets(start, topic.name) for topic in topics}
    return {t.name: read_stream(spark, t, start=starts[t.name], most=most, preset=preset) for t in topics}


def own_offsets(offsets: Mapping[str, int], topic: str) -> dict[str, int]:
    """Return those of one topic's partitions."""
    return {partition: offset for partition, offset in offsets.items() if topic_name(partition) == topic}


def _starting(topic: KafkaTopic, start: Mapping[str, int]) -> str:
    """Return the offsets as Spark wants them, which is of all partitions or of none."""
    numbers = {*range(topic.partitions), *(int(name.rpartition("/")[2]) for name in start)}
    return json.dumps({topic.name: {str(p): start.get(f"{topic.name}/{p}", EARLIEST) for p in sorted(numbers)}})


def read_between(
    spark: SparkSession, topic: KafkaTopic, start: Mapping[str, int], end: Mapping[str, int], *, whole: bool = True
) -> DataFrame:
    """Return the records of an offset range as a batch, with the columns of `read_stream`.

    Args:
        spark: the session.
        topic: what to read.
        start: first offset per `topic/partition`, or `EARLIEST`; a partition that is missing starts at 0.
        end: next offset per `topic/partition`.
        whole: whether it fails if the topic has deleted some of them.
    """
    ranges = {int(p.rpartition("/")[2]): (start.get(p, 0), offset) for p, offset in end.items()}
    options = {
        "assign": json.dumps({topic.name: sorted(ranges)}),
        "startingOffsets": json.dumps({topic.name: {str(p): first for p, (first, _) in ranges.items()}}),
        "endingOffsets": json.dumps({topic.name: {str(p): last for p, (_, last) in ranges.items()}}),
    }
    client = _client(topic, KAFKA_SOURCE) | {"failOnDataLoss": str(whole).lower()}
    return _named(spark.read.format("kafka").options(**client, **options).load(), topic)


def _client(topic: KafkaTopic, preset: Mapping[str, str]) -> dict[str, str]:
    return {**preset, **topic.spark_options, **KAFKA_READ}


def _named(records: DataFrame, topic: KafkaTopic) -> DataFrame:
    """Return the columns of Spark's Kafka source under our names; see `read_stream`."""
    return records.select(
        F.lit(topic.topic_id).alias("_topic_id"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("timestamp").alias("_timestamp"),
        F.col("key").alias("_key"),
        F.col("value").alias("_value"),
        F.col("headers").alias("_headers"),
    )
