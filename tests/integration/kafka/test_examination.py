"""`sluice doctor --kafka` against real brokers: sound ones, with TLS and logins, and with wrong addresses."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluice.connectivity.facts import Contact
from sluice.connectivity.findings import KafkaFinding, diagnose
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.client.credentials import as_user
from sluice.kafka.examination import examine
from sluice.kafka.probing import Prober
from sluice.provisioning.access.administration import Credential
from sluice.settings import settings
from sluice.specs.model.access import Mechanism
from tests.certificates import TestAuthority, make_authority
from tests.integration.brokers import add_listeners, free_ports, running
from tests.integration.kafka.older_protocol import EVENT_HUBS, older_protocol
from tests.integration.secured import SecuredBroker, running_secured

NOWHERE = "no-such-host.invalid"


def findings(*bootstrap: str, client: Mapping[str, str] | None = None) -> dict[str, KafkaFinding]:
    found = diagnose(examine(bootstrap, Prober(client or {}, seconds=5)))
    return {finding.where: finding for finding in found}


def test_a_sound_broker_has_no_fault_and_says_the_time(broker: BrokerProcess) -> None:
    found = findings(broker.bootstrap)
    assert [where for where, finding in found.items() if not finding.ok] == []
    assert list(found) == [broker.bootstrap, f"broker 1 ({broker.bootstrap})", "clock"]
    assert "the controller's clock is 0." in found["clock"].found


@dataclass(frozen=True)
class _Misled:
    """A broker whose further listeners advertise addresses that lead nowhere."""

    process: BrokerProcess
    unresolved: str
    refused: str
    nobody: int


@pytest.fixture(scope="module")
def misled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Misled]:
    port, controller, second, third, nobody = free_ports(5)
    broker = BrokerProcess(tmp_path_factory.mktemp("misled"), port, controller, settings().jars)
    broker.prepare()
    add_listeners(broker, {"NAMED": (second, f"{NOWHERE}:9092"), "MOVED": (third, f"127.0.0.1:{nobody}")})
    with running(broker):
        yield _Misled(broker, f"127.0.0.1:{second}", f"127.0.0.1:{third}", nobody)


@pytest.mark.verify
def test_an_advertised_name_that_does_not_resolve_is_the_brokers_fault_and_not_the_bootstraps(misled: _Misled) -> None:
    found = findings(misled.unresolved)
    assert found[misled.unresolved].ok
    wrong = found[f"broker 1 ({NOWHERE}:9092)"]
    assert wrong.found.startswith("the name does not resolve")
    assert wrong.fix.startswith("set advertised.listeners of broker 1")


@pytest.mark.verify
def test_an_advertised_port_where_nothing_listens_and_a_sound_listener_are_told_apart_at_once(misled: _Misled) -> None:
    found = findings(misled.refused, misled.process.bootstrap)
    assert {where: finding.ok for where, finding in found.items()} == {
        misled.refused: True,
        misled.process.bootstrap: True,
        f"broker 1 (127.0.0.1:{misled.nobody})": False,
        f"broker 1 ({misled.process.bootstrap})": True,
        "clock": True,
    }


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> TestAuthority:
    return make_authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, authority: TestAuthority) -> Iterator[SecuredBroker]:
    with running_secured(tmp_path_factory.mktemp("guarded"), settings().jars, authority) as broker:
        yield broker


def contact(address: str, client: Mapping[str, str]) -> Contact:
    return Prober(client, seconds=5).probe(address).contact


@pytest.mark.verify
def test_tls_its_absence_and_its_certificates_are_told_apart(guarded: SecuredBroker, authority: TestAuthority) -> None:
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(authority.ca)}
    client = authority.issue("client").both
    assert contact(guarded.tls, {}) is Contact.ENCRYPTED
    assert contact(guarded.everything, tls) is Contact.UNENCRYPTED
    assert contact(guarded.tls, {"security.protocol": "SSL"}) is Contact.UNTRUSTED
    assert contact(guarded.tls, tls) is Contact.TLS_FAILED  # it wants the client's
    assert contact(guarded.tls, {**tls, "ssl.keystore.location": str(client)}) is Contact.KAFKA


@pytest.mark.verify
def test_a_wrong_password_and_a_missing_login_are_told_by_the_broker_itself(guarded: SecuredBroker) -> None:
    with KafkaPythonAccess([guarded.everything]) as access:
        access.set_password(Credential("me", Mechanism.SHA_512, 4096), "secret")
    for client, ok in (
        (as_user({}, "me", "secret", "SCRAM-SHA-512"), True),
        (as_user({}, "me", "wrong", "SCRAM-SHA-512"), False),
        (as_user({}, "me", "secret", "PLAIN"), False),
        ({}, False),
    ):
        probe = Prober(client, seconds=5).probe(guarded.bootstrap)
        assert (probe.contact is Contact.KAFKA) is ok
        assert ok or probe.contact is Contact.LOGIN_REFUSED
        assert "secret" not in probe.detail


@pytest.mark.verify
def test_a_service_with_an_older_protocol_is_reached_and_its_clock_is_not_asked(broker: BrokerProcess) -> None:
    (listening,) = free_ports(1)
    with older_protocol(listening, broker.port, EVENT_HUBS) as proxy:
        probe = Prober({}, seconds=5).probe(f"127.0.0.1:{listening}")
    assert (probe.contact, probe.clock) == (Contact.KAFKA, None)
    assert proxy.asked <= EVENT_HUBS.keys()


@pytest.mark.verify
def test_a_broker_that_is_stopped_by_a_signal_takes_connections_and_is_silent(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars)
    broker.prepare()
    with running(broker) as process:
        subprocess.run(["kill", "-STOP", str(process.pid)], check=True)
        try:
            found = Prober({}, seconds=1).probe(broker.bootstrap)
        finally:
            subprocess.run(["kill", "-CONT", str(process.pid)], check=True)
    assert found.contact is Contact.SILENT
