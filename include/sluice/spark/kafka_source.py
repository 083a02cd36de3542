"""Records from Kafka, under the names that validation and the raw table use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


@dataclass(frozen=True)
class KafkaTopic:
    """A topic to read.

    Attributes:
        bootstrap: host:port of some brokers.
        name: the topic.
        topic_id: the cluster's UUID of it, which tells a recreated topic from the old one.
        options: further client settings, under Kafka's names.
    """

    bootstrap: tuple[str, ...]
    name: str
    topic_id: str
    options: Mapping[str, str] = field(default_factory=dict)


def read_stream(spark: SparkSession, topic: KafkaTopic) -> DataFrame:
    """Return the topic as a stream from its beginning, uncapped: a cap would let partitions drift apart in time.

    Columns: `_topic_id` string, `_partition` int, `_offset` long, `_timestamp` timestamp, `_key` and `_value` binary,
    `_headers` array of (key, value).
    """
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", ",".join(topic.bootstrap))
        .option("subscribe", topic.name)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        # Offset look-ups queue behind an idle fetch: without this the last batch before a pause waits up to a second.
        .option("kafka.fetch.max.wait.ms", "100")
    )
    for key, value in topic.options.items():
        reader = reader.option(f"kafka.{key}", value)
    return reader.load().select(
        F.lit(topic.topic_id).alias("_topic_id"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("timestamp").alias("_timestamp"),
        F.col("key").alias("_key"),
        F.col("value").alias("_value"),
        F.col("headers").alias("_headers"),
    )
