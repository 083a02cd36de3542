"""Java and Python reach brokers by the same files, whose certificates a private authority has signed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.kafka.client.credentials import encrypted
from sluice.settings import settings
from tests.certificates import Issued, TestAuthority, make_authority
from tests.integration.secured import SecuredBroker, running_secured
from tests.integration.spark.connections.round_trip import new_topic, write_and_read

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


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_spark_writes_and_reads_behind_a_private_authority(
    spark: SparkSession, place: Place, topic_name: str, tmp_path: Path
) -> None:
    write_and_read(spark, new_topic(place.broker.tls, topic_name, place.client), tmp_path)
