"""Python and Spark log in to a broker that verifies tokens, by the tokens of an issuer on this machine, over TLS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.credentials import by_token, encrypted
from sluice.kafka.client.java_client import java_options
from sluice.kafka.client.login import LoginRefusedError
from sluice.kafka.client.tokens import TokenRefusedError
from sluice.kafka.producer import KafkaPythonProducer
from sluice.settings import settings
from tests.certificates import make_authority
from tests.integration.secured import running_secured
from tests.integration.spark.connections.round_trip import new_topic, write_and_read
from tests.token_issuer import TokenIssuer, issuing

SECRET = "a secret of the client"  # noqa: S105 - of a test

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class TokenPlace:
    """A broker that asks for tokens, and who issues them."""

    address: str
    ca: str
    issuer: TokenIssuer

    def client(self, secret: str = SECRET, endpoint: str | None = None) -> Mapping[str, str]:
        """Return the settings of the client `sluice`."""
        reached = endpoint or self.issuer.endpoint
        return by_token(encrypted({}, ca=self.ca), "sluice", secret, endpoint=reached, scope="kafka", ca=self.ca)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenPlace]:
    folder = tmp_path_factory.mktemp("tokens")
    authority = make_authority(folder)
    issuer = TokenIssuer(clients={"sluice": SECRET})
    keys = issuer.write_keys(folder / "keys.json")
    with (
        issuing(issuer, authority.issue("issuer").both),
        running_secured(folder, settings().jars, authority, token_keys=keys) as broker,
    ):
        yield TokenPlace(broker.tls, str(authority.ca), issuer)


def test_python_logs_in_by_a_token(place: TokenPlace, topic_name: str) -> None:
    new_topic(place.address, topic_name, place.client())
    with KafkaPythonProducer([place.address], topic_name, place.client()) as producer:
        assert producer.send(b"key", b"value").wait().offset == 0
    assert place.issuer.asked[-1] == {"grant_type": "client_credentials", "scope": "kafka"}


def test_a_wrong_secret_is_the_issuers_refusal_and_a_foreign_token_the_brokers(place: TokenPlace) -> None:
    with (
        KafkaPythonAdministration([place.address], place.client("wrong"), patience_seconds=2) as administration,
        pytest.raises(TokenRefusedError, match="answers 401"),
    ):
        administration.brokers()
    with issuing(TokenIssuer(clients={"sluice": SECRET})) as stranger:
        client = place.client(endpoint=stranger.endpoint)
        with (
            KafkaPythonAdministration([place.address], client, patience_seconds=2) as administration,
            pytest.raises(LoginRefusedError, match=r"it refuses the token \(") as refused,
        ):
            administration.brokers()
        assert not [token for token in stranger.given if token in str(refused.value)]


def test_spark_writes_and_reads_by_tokens_and_tells_no_secret(
    spark: SparkSession, place: TokenPlace, topic_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    jvm: Any = spark.sparkContext._jvm
    name, _, value = java_options(place.issuer.endpoint).removeprefix("-D").partition("=")
    jvm.java.lang.System.setProperty(name, value)  # the session of all tests is there already
    plans = write_and_read(spark, new_topic(place.address, topic_name, place.client()), tmp_path)
    told = plans + "".join(capfd.readouterr())
    assert not [secret for secret in (SECRET, *place.issuer.given) if secret in told]
