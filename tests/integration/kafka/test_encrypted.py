"""Between clients and secured brokers, and among these, nothing can be read on the way: a proxy in between tries."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.credentials import encrypted
from sluice.kafka.client.login import LoginRefusedError, refuse_login
from sluice.kafka.producer import KafkaPythonProducer
from sluice.kafka.reader import KafkaPythonReader
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from tests.certificates import make_authority
from tests.integration.brokers import free_ports, running
from tests.integration.wiretap import Wiretap, advertise, wiretapped
from tests.waiting import eventually

TOPIC, VALUE = "letters", b'{"text":"a record that nobody else should read"}'


@contextmanager
def tapped(folder: Path, *, secured: bool) -> Iterator[tuple[BrokerProcess, Wiretap]]:
    """Run a broker whose clients all go through the proxy."""
    admin = administrator(folder) if secured else None
    broker = BrokerProcess(folder, *free_ports(), settings().jars, admin=admin)
    with wiretapped(broker.bootstrap) as tap:
        broker.prepare()
        advertise(folder / "server.properties", "CLIENTS", tap.address)
        with running(broker):
            yield broker, tap


def send_and_read(broker: BrokerProcess, tap: Wiretap) -> None:
    with (
        KafkaPythonAdministration([tap.address], broker.client) as administration,
        KafkaPythonProducer([tap.address], TOPIC, broker.client) as producer,
    ):
        administration.create([TopicCreation(TOPIC, 1, 1)])
        assert producer.send(b"key", VALUE).wait().offset == 0
        (record,) = KafkaPythonReader(administration, TOPIC).read({0: 0}, {0: 1})
        assert record.value == VALUE


def test_no_record_and_no_password_can_be_read_on_the_way(tmp_path: Path) -> None:
    with tapped(tmp_path / "kafka", secured=True) as (broker, tap):
        send_and_read(broker, tap)
        assert broker.admin is not None
        assert tap.connections >= 2
        assert tap.passed_bytes > 2 * len(VALUE)
        assert tap.plaintext_bytes(VALUE, TOPIC.encode(), b"n=admin", broker.admin.password.encode()) == 0
        with pytest.raises(LoginRefusedError, match="it is encrypted, and the client is not"):
            refuse_login([tap.address], {})
        stranger = administrator(tmp_path / "another").client
        with pytest.raises(LoginRefusedError, match="it refuses the user 'admin'"):
            refuse_login([tap.address], {**stranger, "ssl.ca.location": broker.client["ssl.ca.location"]})


@pytest.mark.verify
def test_a_cluster_that_asked_and_did_not_encrypt_goes_over_to_it_with_its_records(tmp_path: Path) -> None:
    folder = tmp_path / "kafka"
    admin = administrator(folder)
    broker = BrokerProcess(folder, *free_ports(), settings().jars, admin=admin)
    broker.prepare()
    properties = folder / "server.properties"
    plain = [line for line in properties.read_text().splitlines() if not line.startswith("ssl.")]
    properties.write_text("\n".join(plain).replace("SASL_SSL", "SASL_PLAINTEXT"))
    before = {name: value for name, value in admin.client.items() if not name.startswith("ssl.")}
    before["security.protocol"] = "SASL_PLAINTEXT"
    with (
        started(broker),
        KafkaPythonAdministration([broker.bootstrap], before, patience_seconds=60) as administration,
    ):
        administration.create([TopicCreation(TOPIC, 1, 1)])
        with KafkaPythonProducer([broker.bootstrap], TOPIC, before) as producer:
            assert producer.send(b"key", VALUE).wait().offset == 0
    admin.admit()
    broker.prepare()
    with running(broker), KafkaPythonAdministration([broker.bootstrap], broker.client) as administration:
        assert administration.ends(TOPIC) == {0: 1}


@contextmanager
def started(broker: BrokerProcess) -> Iterator[None]:
    """Run a broker that is not the one that its folder would be made for today."""
    process = subprocess.Popen(broker.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(broker.is_listening, seconds=60)
        yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.verify
def test_the_proxy_reads_everything_where_nothing_is_encrypted(tmp_path: Path) -> None:
    with tapped(tmp_path / "kafka", secured=False) as (broker, tap):
        send_and_read(broker, tap)
        assert tap.plaintext_bytes(VALUE) >= 2 * len(VALUE)  # sent and read; a client may ask again
        with pytest.raises(LoginRefusedError, match="as one does that is not encrypted"):
            refuse_login([tap.address], encrypted({}, ca=str(make_authority(tmp_path).ca)))
