"""Why TLS with a broker fails is said: kafka-python only runs out of time."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.errors import UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.connection import client_arguments
from sluice.kafka.client.credentials import encrypted
from sluice.kafka.client.login import LoginRefusedError, refuse_login
from tests.certificates import TestAuthority, make_authority
from tests.tls_listener import tls_listener
from tests.unit.kafka.wire import serving
from tests.waiting import eventually


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> TestAuthority:
    return make_authority(tmp_path_factory.mktemp("authority"))


def refusal(address: str, client: Mapping[str, str]) -> str:
    with pytest.raises(LoginRefusedError) as refused:
        refuse_login([address], client)
    return str(refused.value)


def test_an_authority_that_is_not_known_is_named(authority: TestAuthority, tmp_path: Path) -> None:
    stranger = make_authority(tmp_path)
    with tls_listener(authority.issue("broker").both) as there:
        said = refusal(there.address, encrypted({}, ca=str(stranger.ca)))
        assert re.search(
            r"certificate that it shows does not count \((unable to get|self.signed|certificate sign)", said
        )
        assert "correct `tls` and `bootstrap` in the deployment" in said
        refuse_login([there.address], encrypted({}, ca=str(authority.ca)))


def test_an_expired_certificate_and_another_address_are_told_apart(authority: TestAuthority) -> None:
    client = encrypted({}, ca=str(authority.ca))
    expired = authority.issue("expired", begin=datetime.now(UTC) - timedelta(days=9), days=1)
    with tls_listener(expired.both) as there:
        assert "(certificate has expired)" in refusal(there.address, client)
    with tls_listener(authority.issue("elsewhere", address="kafka.example.org").both) as there:
        assert re.search(r"\(IP address mismatch, .*127\.0\.0\.1", refusal(there.address, client))
        refuse_login([there.address], encrypted({}, ca=str(authority.ca), verify_hostname=False))


def test_a_broker_that_requires_a_certificate_says_so(authority: TestAuthority) -> None:
    with tls_listener(authority.issue("broker").both, authority.ca) as there:
        said = refusal(there.address, encrypted({}, ca=str(authority.ca)))
        assert re.search(r"TLS fails \(\w*CERTIFICATE_REQUIRED\), and the client shows no certificate", said)
        own = authority.issue("client")
        refuse_login([there.address], encrypted({}, ca=str(authority.ca), certificate=str(own.both)))
        assert there.names == ["client"]


def test_a_clients_certificate_that_is_refused_is_named(authority: TestAuthority, tmp_path: Path) -> None:
    stranger = make_authority(tmp_path).issue("client")
    with tls_listener(authority.issue("broker").both, authority.ca) as there:
        client = encrypted({}, ca=str(authority.ca), certificate=str(stranger.both))
        assert f"and the client shows the certificate in {stranger.both}" in refusal(there.address, client)


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Answer whatever comes with the same bytes, and end the connection."""

    def handle(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(answer)

    with serving(handle) as port:
        yield f"127.0.0.1:{port}"


def test_a_broker_without_tls_is_told_from_one_that_fails(authority: TestAuthority) -> None:
    with answering(b"") as address:
        said = refusal(address, encrypted({}, ca=str(authority.ca)))
        assert "ends the connection where TLS begins, as one does that is not encrypted" in said


@pytest.mark.parametrize("client", [{}, {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}])
def test_a_client_without_tls_learns_that_the_broker_has_it(client: Mapping[str, str]) -> None:
    with answering(b"\x15\x03\x03\x00\x02\x02\x50") as address:
        assert "it is encrypted, and the client is not" in refusal(address, client)


def test_files_that_are_replaced_are_used_by_the_next_connection(authority: TestAuthority) -> None:
    own = authority.issue("rotated")
    client = encrypted({}, ca=str(authority.ca), certificate=str(own.certificate), key=str(own.key))
    assert client_arguments(client)["ssl_keyfile"] == str(own.key)
    with tls_listener(authority.issue("broker").both, authority.ca) as there:
        administration = KafkaPythonAdministration([there.address], client, patience_seconds=0.5)
        with administration, pytest.raises(UnreachableError):
            administration.brokers()
        assert set(there.names) == {"rotated"}
        newer = authority.issue("newer")
        newer.key.replace(own.key)
        newer.certificate.replace(own.certificate)
        with administration, pytest.raises(UnreachableError):
            administration.brokers()
        eventually(lambda: "newer" in there.names, seconds=5)
