"""The embedded cluster's own authority: made once, renewed in time, and believed by clients."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import authority_file, brokers_file, encrypted_client
from sluice.devstack.kafka.authority import ensure_certificates
from sluice.errors import CorruptionError
from sluice.kafka.client.login import refuse_login
from sluice.kafka.client.pem_files import expiries, pem_faults
from tests.tls_listener import tls_listener

NOW = datetime.now(UTC)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "tls").iterdir()}


def test_a_client_with_the_authority_believes_a_broker_and_no_other(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        ensure_certificates(folder, NOW)
    with tls_listener(brokers_file(here)) as broker:
        refuse_login([broker.address], encrypted_client(here))
        assert broker.names == [""]
        with pytest.raises(Exception, match="the certificate that it shows does not count"):
            refuse_login([broker.address], encrypted_client(elsewhere))


def test_what_is_there_stays_until_it_has_half_a_year_left(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, NOW)
    made = contents(tmp_path)
    ensure_certificates(tmp_path, NOW + timedelta(days=500))
    assert contents(tmp_path) == made
    ensure_certificates(tmp_path, NOW + timedelta(days=600))
    renewed = contents(tmp_path)
    assert [name for name in made if renewed[name] != made[name]] == ["broker.pem"]
    ensure_certificates(tmp_path, NOW + timedelta(days=3600))
    assert all(content != renewed[name] for name, content in contents(tmp_path).items())


def test_a_broker_of_another_authority_gets_a_new_certificate(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, NOW)
    before = brokers_file(tmp_path).read_bytes()
    authority_file(tmp_path).unlink()
    ensure_certificates(tmp_path, NOW)
    assert brokers_file(tmp_path).read_bytes() != before


def test_keys_are_nobody_elses_to_read(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, NOW)
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "tls").iterdir()} == {0o600}
    assert (tmp_path / "tls").stat().st_mode & 0o077 == 0


def test_java_and_python_can_read_them(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, NOW)
    client = {**encrypted_client(tmp_path), "ssl.certificate.location": str(brokers_file(tmp_path))}
    assert pem_faults(client, NOW) == ()
    assert len(expiries(client)) == 2
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(brokers_file(tmp_path))


def test_the_strictest_clients_take_them(tmp_path: Path) -> None:
    """From Python 3.13 on, all do by default."""
    ensure_certificates(tmp_path, NOW)
    context = ssl.create_default_context(cafile=authority_file(tmp_path))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with tls_listener(brokers_file(tmp_path)) as broker:
        host, _, port = broker.address.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            assert connection.getpeercert()


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "broker.pem"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"-----BEGIN CERTIFICATE-----\n"])
def test_a_damaged_file_is_said(tmp_path: Path, name: str, content: bytes) -> None:
    ensure_certificates(tmp_path, NOW)
    (tmp_path / "tls" / name).write_bytes(content)
    with pytest.raises(CorruptionError, match=r"tls holds no certificates .* remove the folder"):
        ensure_certificates(tmp_path, NOW)
