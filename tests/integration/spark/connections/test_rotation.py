"""A password or a client's secret is changed while a stream and a feed run: their next connections use the new one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.errors import SluiceError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.credentials import LOGIN_SOURCE, as_user, by_token, encrypted
from sluice.kafka.client.java_client import java_options
from sluice.kafka.client.login import refuse_login
from sluice.kafka.producer import KafkaPythonProducer
from sluice.launch.processes import wait_until
from sluice.provisioning.access.administration import Credential
from sluice.secrecy.secret_values import SecretSource
from sluice.settings import settings
from sluice.spark.records.kafka_source import KafkaTopic, read_stream
from sluice.specs.model.access import Mechanism
from sluice.topics.administration import TopicCreation
from tests.certificates import make_authority, replaced
from tests.integration.secured import SecuredBroker, running_secured
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.token_issuer import TokenIssuer, issuing

FIRST, SECOND = "the first secret", "the second secret"
VARIABLE = "SLUICE_PASSWORD_STREAM"
TOKEN_SECONDS = 8
FURTHER = "super.users=User:ANONYMOUS;User:sluice\n"

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class RotatedPlace:
    """A broker whose clients go through a proxy that can end their connections, and how they log in.

    Attributes:
        broker: it.
        address: where they connect.
        client: their settings, with where the secret is.
        rotate: replaces the secret at whoever checks it; the one of before does not count any longer then.
        file: where clients read it.
    """

    broker: SecuredBroker
    address: str
    client: Mapping[str, str]
    rotate: Callable[[], None]
    file: Path

    @property
    def unchanging(self) -> Mapping[str, str]:
        """Settings of clients that know the first secret and look nowhere."""
        return {name: value for name, value in self.client.items() if name != LOGIN_SOURCE}


@pytest.fixture(params=["file", "command"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> SecretSource:
    """Where the secret is: in a file, or what a command prints."""
    file = tmp_path / "the secret"
    file.write_text(f"{FIRST}\n")
    if request.param == "file":
        return SecretSource(f"{VARIABLE}_FILE", str(file))
    return SecretSource(f"{VARIABLE}_COMMAND", f"cat '{file}'")


@contextmanager
def by_scram(folder: Path, source: SecretSource) -> Iterator[RotatedPlace]:
    credential = Credential("sluice", Mechanism.SHA_512, 4096)
    with (
        running_secured(folder, settings().jars, tapped=True, further=FURTHER) as broker,
        KafkaPythonAccess([broker.everything]) as access,
    ):
        access.set_password(credential, FIRST)
        client = as_user({}, "sluice", FIRST, "SCRAM-SHA-512", source=source)
        file = folder / "the secret"
        yield RotatedPlace(broker, broker.bootstrap, client, lambda: access.set_password(credential, SECOND), file)


@contextmanager
def by_tokens(folder: Path, source: SecretSource) -> Iterator[RotatedPlace]:
    authority = make_authority(folder)
    issuer = TokenIssuer(clients={"sluice": FIRST}, seconds=TOKEN_SECONDS)
    keys, ca = issuer.write_keys(folder / "keys.json"), str(authority.ca)

    def rotate() -> None:
        issuer.clients["sluice"] = SECOND
        rotated_at = time.monotonic()
        assert wait_until(  # a token that was given for the first secret is in force for its time
            lambda: time.monotonic() > rotated_at + 1.5 * TOKEN_SECONDS, SystemClock(), deadline_seconds=60
        )

    with (
        issuing(issuer, authority.issue("issuer").both),
        running_secured(folder, settings().jars, authority, token_keys=keys, tapped=True) as broker,
    ):
        client = by_token(encrypted({}, ca=ca), "sluice", FIRST, endpoint=issuer.endpoint, ca=ca, source=source)
        yield RotatedPlace(broker, broker.tls, client, rotate, folder / "the secret")


WAYS = {"scram": by_scram, "tokens": by_tokens}


@pytest.fixture(params=WAYS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, source: SecretSource, spark: SparkSession
) -> Iterator[RotatedPlace]:
    with WAYS[request.param](tmp_path, source) as place:
        if request.param == "tokens":
            jvm: Any = spark.sparkContext._jvm
            endpoint = place.client["sasl.oauthbearer.token.endpoint.url"]
            name, _, value = java_options(endpoint).removeprefix("-D").partition("=")
            jvm.java.lang.System.setProperty(name, value)  # the session of all tests is there already
        yield place


def created(place: RotatedPlace, name: str, client: Mapping[str, str]) -> KafkaTopic:
    with KafkaPythonAdministration([place.address], place.client) as administration:
        administration.create([TopicCreation(name, 1, 1)])
        return KafkaTopic((place.address,), name, administration.describe([name])[name].topic_id, client, 1)


@contextmanager
def streaming(spark: SparkSession, topic: KafkaTopic, folder: Path) -> Iterator[Callable[[int], None]]:
    """Run a stream over a topic; give what waits until it has read so many records."""
    name = f"read_{topic.name}"
    writer = read_stream(spark, topic).writeStream.format("memory").queryName(name)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()

    def until(count: int) -> None:
        def reached() -> bool:
            if (failure := query.exception()) is not None:
                raise failure
            return spark.table(name).count() == count

        assert wait_until(reached, SystemClock(), deadline_seconds=60), f"{spark.table(name).count()} of {count}"

    try:
        yield until
    finally:
        query.stop()


def stored(spark: SparkSession, topic: KafkaTopic) -> list[bytes]:
    """Return the values that the stream over a topic has handed on."""
    return [bytes(row[0]) for row in spark.table(f"read_{topic.name}").select("_value").collect()]


@contextmanager
def replaced_beneath(
    spark: SparkSession, place: RotatedPlace, topic: KafkaTopic, tmp_path: Path
) -> Iterator[Callable[[int], None]]:
    """Replace the secret under a stream and a feed that have handed on one record each, and let the feed send another.

    Gives what waits until the stream has so many records.
    """
    with (
        streaming(spark, topic, tmp_path) as until,
        KafkaPythonProducer([place.address], topic.name, place.client) as producer,
    ):
        producer.send(b"key", b"before").wait()
        until(1)
        replaced(place.file, f"{SECOND}\n".encode())
        place.rotate()
        place.broker.cut()
        producer.send(b"key", b"after").wait()
        yield until


@pytest.mark.proves("secret-replaced")
def test_a_stream_and_a_feed_go_on_with_the_secret_that_replaced_theirs(
    spark: SparkSession, place: RotatedPlace, topic_name: str, tmp_path: Path, faults: FaultRecorder
) -> None:
    topic = created(place, topic_name, place.client)
    with replaced_beneath(spark, place, topic, tmp_path) as until:
        until(2)
        faults.counted(Census.of([b"before", b"after"], stored(spark, topic)), what="records in a query's table")
    with pytest.raises(SluiceError, match=r"refuses the user 'sluice'|answers 401") as refused:
        refuse_login([place.address], place.unchanging)
    faults.struck(f"the secret of before is refused: {refused.value.message}")


@pytest.mark.parametrize("source", ["file"], indirect=True)
def test_kafkas_own_client_ends_with_the_password_that_it_was_made_with(
    spark: SparkSession, tmp_path: Path, source: SecretSource, topic_name: str
) -> None:
    with by_scram(tmp_path, source) as place:
        topic = created(place, topic_name, place.unchanging)
        with (
            replaced_beneath(spark, place, topic, tmp_path) as until,
            pytest.raises(StreamingQueryException, match="SaslAuthenticationException"),
        ):
            until(2)
