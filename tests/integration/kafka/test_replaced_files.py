"""Files of TLS are replaced while a client of Java's runs: its next connection uses the new ones."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluice.devstack.own_jar import PATTERN
from sluice.kafka.client.credentials import encrypted
from sluice.kafka.client.java_client import java_settings
from sluice.settings import settings
from tests.certificates import Issued, TestAuthority, make_authority, replaced
from tests.matrix.recording import FaultRecorder
from tests.tls_listener import TlsListener, tls_listener
from tests.waiting import eventually

SECONDS = 40
KEY_PASSWORD = "of the key"  # noqa: S105 - of a test


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return make_authority(tmp_path)


@pytest.fixture
def broker(authority: TestAuthority) -> Iterator[TlsListener]:
    """What looks like a broker until the first request, so that clients connect again and again."""
    with tls_listener(authority.issue("broker").both, authority.ca) as listener:
        yield listener


@contextmanager
def connecting(folder: Path, broker: TlsListener, client: Mapping[str, str]) -> Iterator[None]:
    """Run one of Kafka's own tools, whose client lives until the block ends."""
    properties = folder / "client.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in client.items()), encoding="utf-8")
    jars = settings().jars
    (own,) = (jars / "spark").glob(PATTERN)
    tool = ["org.apache.kafka.tools.TopicCommand", "--list", "--bootstrap-server", broker.address]
    java = ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars / 'kafka'}/*:{own}"]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [*java, *tool, "--command-config", str(properties)], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        seen(broker, 1)
        yield
    finally:
        process.kill()
        process.wait()


def seen(broker: TlsListener, count: int) -> None:
    eventually(lambda: len(broker.names) >= count, seconds=SECONDS)


def replace_by(own: Issued, other: Issued) -> None:
    for file in ("certificate", "key", "both"):
        replaced(getattr(own, file), getattr(other, file).read_bytes())


@pytest.mark.proves("certificate-replaced")
def test_a_running_client_shows_the_certificate_that_replaced_its_own(
    tmp_path: Path, authority: TestAuthority, broker: TlsListener, faults: FaultRecorder
) -> None:
    own = authority.issue("older", password=KEY_PASSWORD)
    ca, certificate, key = (str(file) for file in (authority.ca, own.certificate, own.key))
    client = encrypted({}, ca=ca, certificate=certificate, key=key, key_password=KEY_PASSWORD)
    with connecting(tmp_path, broker, java_settings(client)):
        assert set(broker.names) == {"older"}
        replaced(own.certificate, b"half of it")
        unusable_from = len(broker.names)
        seen(broker, unusable_from + 3)
        assert set(broker.names) == {"older"}, "files that cannot be used leave those of before in force"
        faults.struck("three connections were made while half of a file was there")
        replace_by(own, authority.issue("newer", password=KEY_PASSWORD))
        eventually(lambda: "newer" in broker.names, seconds=SECONDS)
        faults.recovered()
        faults.compared("the names in the certificates that a broker was shown")
        from_then_on = len(broker.names)
        seen(broker, from_then_on + 2)
        assert set(broker.names[from_then_on:]) == {"newer"}


@pytest.mark.verify
def test_kafkas_own_reading_of_files_never_sees_a_new_one(
    tmp_path: Path, authority: TestAuthority, broker: TlsListener
) -> None:
    own = authority.issue("older")
    client = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.ca)}
    client |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(own.both)}
    with connecting(tmp_path, broker, client):
        replace_by(own, authority.issue("newer"))
        replaced_at = len(broker.names)
        seen(broker, replaced_at + 5)
        assert set(broker.names) == {"older"}, "Kafka reads files again: `ReplacedFiles` is of no use any more"
