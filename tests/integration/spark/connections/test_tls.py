"""Java and Python reach brokers by the same files, whose certificates a private authority has signed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.credentials import encrypted
from sluice.settings import settings
from sluice.spark.records.kafka_source import KafkaTopic, read_between, read_stream
from sluice.spark.sinks.topic_output import TopicRecords
from sluice.topics.administration import TopicCreation
from tests.certificates import Issued, TestAuthority, make_authority
from tests.integration.secured import SecuredBroker, running_secured

PASSWORD = "of the key"  # noqa: S105 - of a test


@dataclass(frozen=True)
class Place:
    """A broker behind TLS, and what its authority has signed."""

    broker: SecuredBroker
    authority: TestAuthority
    own: Issued

    @property
    def client(self) -> Mapping[str, str]:
        """Return what a deployment's `kafka.tls` becomes."""
        ca, certificate, key = (str(file) for file in (self.authority.ca, self.own.certificate, self.own.key))
        return encrypted({}, ca=ca, certificate=certificate, key=key, key_password=PASSWORD)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("tls")
    authority = make_authority(folder)
    with running_secured(folder, settings().jars, authority) as broker:
        yield Place(broker, authority, authority.issue("client", password=PASSWORD))


def topic(place: Place, name: str) -> KafkaTopic:
    with KafkaPythonAdministration([place.broker.tls], place.client) as administration:
        administration.create([TopicCreation(name, 1, 1)])
        topic_id = administration.describe([name])[name].topic_id
    return KafkaTopic((place.broker.tls,), name, topic_id, place.client, 1)


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_spark_writes_and_reads_behind_a_private_authority(
    spark: SparkSession, place: Place, topic_name: str, tmp_path: Path
) -> None:
    there = topic(place, topic_name)
    records = spark.range(100).selectExpr("cast(cast(id as string) as binary) as value")
    TopicRecords(there, cast("Any", None), cast("Any", None), "code")._send(records)
    assert read_between(spark, there, {f"{topic_name}/0": 0}, {f"{topic_name}/0": 100}).count() == 100
    query = (
        read_stream(spark, there)
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "table"))
    )
    assert query.awaitTermination(120)
    assert spark.read.format("delta").load(str(tmp_path / "table")).count() == 100
