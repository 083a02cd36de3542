"""Records that Spark writes to a topic and reads again, by a batch and by a stream."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from sluice.kafka.administration import KafkaPythonAdministration
from sluice.spark.records.kafka_source import KafkaTopic, read_between, read_stream
from sluice.spark.sinks.topic_output import TopicRecords
from sluice.topics.administration import TopicCreation

_RECORDS = 100


def new_topic(address: str, name: str, client: Mapping[str, str]) -> KafkaTopic:
    """Create a topic with one partition, as a client."""
    with KafkaPythonAdministration([address], client) as administration:
        administration.create([TopicCreation(name, 1, 1)])
        topic_id = administration.describe([name])[name].topic_id
    return KafkaTopic((address,), name, topic_id, dict(client), 1)


def write_and_read(spark: SparkSession, topic: KafkaTopic, folder: Path) -> str:
    """Write records to an empty topic, and read all of them in both ways.

    Args:
        spark: the session.
        topic: an empty one.
        folder: for the checkpoint and the table of the stream.

    Returns:
        The plans of both, as text.
    """
    records = spark.range(_RECORDS).selectExpr("cast(cast(id as string) as binary) as value")
    TopicRecords(topic, cast("Any", None), cast("Any", None), "code")._send(records)
    batch = read_between(spark, topic, {f"{topic.name}/0": 0}, {f"{topic.name}/0": _RECORDS})
    assert batch.count() == _RECORDS
    stream = read_stream(spark, topic)
    query = (
        stream.writeStream.format("delta")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "table"))
    )
    assert query.awaitTermination(120)
    assert spark.read.format("delta").load(str(folder / "table")).count() == _RECORDS
    plans = [frame._jdf.queryExecution().toString() for frame in (batch, stream)]
    return "".join([*plans, query._jsq.explainInternal(True)])
