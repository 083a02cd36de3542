"""Spark reads from and writes to brokers that ask who connects, and shows the password to nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from sluice.devstack.kafka.admin import administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from sluice.spark.records.kafka_source import KafkaTopic, read_between, read_stream
from sluice.spark.sinks.topic_output import TopicRecords
from sluice.specs.model.outputs import TopicOutput
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import free_ports, running

OUTPUT = TopicOutput(kind="topic", topic="told", keys=("id",))


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[BrokerProcess]:
    folder = tmp_path / "kafka"
    broker = BrokerProcess(folder, *free_ports(), settings().jars, admin=administrator(folder))
    broker.prepare()
    with running(broker):
        yield broker


@pytest.mark.timeout(300)
def test_records_go_out_and_come_back_and_nothing_tells_the_password(
    spark: SparkSession, secured: BrokerProcess, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with KafkaPythonAdministration([secured.bootstrap], secured.client) as administration:
        administration.create([TopicCreation("told", 1, 1)])
        topic_id = administration.describe(["told"])["told"].topic_id
    topic = KafkaTopic((secured.bootstrap,), "told", topic_id, secured.client, 1)
    records = spark.range(100).selectExpr("cast(cast(id as string) as binary) as value")
    TopicRecords(topic, cast("Any", None), cast("Any", None), "code")._send(records)

    batch = read_between(spark, topic, {"told/0": 0}, {"told/0": 100})
    assert batch.count() == 100
    stream = read_stream(spark, topic)
    query = (
        stream.writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "table"))
    )
    assert query.awaitTermination(120)
    assert spark.read.format("delta").load(str(tmp_path / "table")).count() == 100

    assert secured.admin is not None
    password = secured.admin.password
    for frame in (batch, stream):
        assert password not in frame._jdf.queryExecution().toString()
    assert password not in query._jsq.explainInternal(True)
    assert not [
        path
        for folder in ("checkpoint", "table")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file() and password.encode() in path.read_bytes()
    ]
    assert password not in "".join(capfd.readouterr())
