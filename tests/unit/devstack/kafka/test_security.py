from __future__ import annotations

from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import Administrator, administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.kafka.cluster import embedded_brokers
from sluice.devstack.kafka.security import (
    is_secured,
    is_stored,
    requested_security,
    security_properties,
    store_security,
)
from sluice.errors import NotReadyError, SpecError
from sluice.launch.ports import choose_ports
from sluice.settings import Settings, StateFolder
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka

EMBEDDED = EmbeddedKafka()
ELSEWHERE = ExternalKafka(kind="external", bootstrap=("kafka:9092",))

JAVA = """\
#!/bin/sh
# Says with what it was started, and shows the files that it was given: a stand-in for the tool that formats.
printf '%s\\n' "$@" > {said}/arguments
for each in "$@"; do
  case "$each" in @*) cat "${{each#@}}" > {said}/file; stat -c %a "${{each#@}}" > {said}/mode; esac
done
exit 7
"""


@pytest.fixture
def place(tmp_path: Path) -> Settings:
    StateFolder(tmp_path).supervisor.mkdir(parents=True)
    return Settings(home=tmp_path, state=tmp_path, jars=tmp_path / "jars", deployment="local")


def properties(admin: Administrator | None) -> dict[str, str]:
    return dict(line.split("=", 1) for line in security_properties(admin).splitlines())


def test_whoever_connects_to_a_secured_broker_is_asked_and_may_do_nothing_that_was_not_granted(tmp_path: Path) -> None:
    admin = administrator(tmp_path)
    found = properties(admin)
    protocols = dict(each.split(":") for each in found["listener.security.protocol.map"].split(","))
    assert protocols == {"CLIENTS": "SASL_SSL", "CONTROLLER": "SASL_SSL"}
    assert found["ssl.keystore.location"] == str(tmp_path / "tls" / "broker.pem")
    assert found["ssl.truststore.location"] == admin.client["ssl.ca.location"]
    assert found["sasl.enabled.mechanisms"] == "SCRAM-SHA-512"
    assert found["authorizer.class.name"].endswith(".StandardAuthorizer")
    assert found["allow.everyone.if.no.acl.found"] == "false"
    assert found["super.users"] == "User:admin"
    assert found["listener.name.clients.scram-sha-512.sasl.jaas.config"] == admin.client["sasl.jaas.config"]


def test_an_open_broker_asks_nobody(tmp_path: Path) -> None:
    assert properties(None) == {"listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT"}
    assert BrokerProcess(tmp_path, 1, 2, tmp_path).client == {}


def test_what_was_asked_for_is_kept(place: Settings) -> None:
    found = []
    for asked in (None, True, None, False, None):
        found.append(requested_security(place, EMBEDDED, asked))
        store_security(place, found[-1])
        assert is_secured(place) == found[-1]
    assert found == [False, True, True, False, False]


@pytest.mark.parametrize("asked", [None, True])
def test_a_cluster_that_asked_before_it_encrypted_goes_over_to_it(place: Settings, asked: bool | None) -> None:
    (place.folder.supervisor / "secured").touch()
    assert requested_security(place, EMBEDDED, asked)
    assert not is_stored(place, secured=True)
    assert not is_stored(place, secured=False)
    store_security(place, secured=True)
    assert is_stored(place, secured=True)


def test_asking_alone_changes_nothing(place: Settings) -> None:
    assert requested_security(place, EMBEDDED, True)
    assert not is_secured(place)


def test_somebody_elses_brokers_are_not_secured(place: Settings) -> None:
    assert not requested_security(place, ELSEWHERE, None)
    with pytest.raises(SpecError, match=r"has brokers of its own, kafka:9092\. Fix: leave out --secure"):
        requested_security(place, ELSEWHERE, True)


def test_all_brokers_of_a_cluster_have_the_same_administrator(place: Settings) -> None:
    ports = choose_ports({}, lambda _: True, 3)
    cluster = embedded_brokers(place, EMBEDDED, ports, secured=True)
    assert {broker.admin for broker in cluster.brokers} == {administrator(place.folder.kafka)} == {cluster.admin}
    assert embedded_brokers(place, EMBEDDED, ports).admin is None
    assert embedded_brokers(place, ELSEWHERE, ports, secured=True).admin is None


@pytest.fixture
def formatting(tmp_path: Path) -> BrokerProcess:
    """A broker whose data would be formatted by a program that only says how it was called."""
    java, jars = tmp_path / "java", tmp_path / "jars"
    java.write_text(JAVA.format(said=tmp_path))
    java.chmod(0o755)
    (jars / "kafka").mkdir(parents=True)
    (jars / "kafka" / "kafka_2.13-4.jar").touch()
    folder = tmp_path / "kafka"
    return BrokerProcess(folder, 1, 2, jars, java=str(java), admin=administrator(folder))


def test_the_password_is_in_no_process_s_arguments_and_in_no_file_that_others_may_read(
    formatting: BrokerProcess, tmp_path: Path
) -> None:
    with pytest.raises(NotReadyError, match="could not be formatted"):
        formatting.prepare()
    assert formatting.admin is not None
    password = formatting.admin.password
    assert password not in (tmp_path / "arguments").read_text()
    assert (
        tmp_path / "file"
    ).read_text() == f"--add-scram\nSCRAM-SHA-512=[name=admin,iterations=8192,password={password}]\n"
    assert (tmp_path / "mode").read_text().strip() == "600"
    holding = {
        path.name: path for path in formatting.folder.rglob("*") if path.is_file() and password in path.read_text()
    }
    assert set(holding) == {"admin.properties.new", "server.properties"}
    assert {path.stat().st_mode & 0o777 for path in holding.values()} == {0o600}


def test_only_the_first_broker_brings_the_administrator_along(formatting: BrokerProcess, tmp_path: Path) -> None:
    meta = tmp_path / "first" / "data"
    meta.mkdir(parents=True)
    (meta / "meta.properties").write_text("cluster.id=abc\n")
    second = BrokerProcess(
        tmp_path / "second",
        3,
        2,
        formatting.jars,
        java=formatting.java,
        number=2,
        cluster=2,
        first=tmp_path / "first",
        admin=formatting.admin,
    )
    with pytest.raises(NotReadyError, match="could not be formatted"):
        second.prepare()
    assert not [line for line in (tmp_path / "arguments").read_text().splitlines() if line.startswith("@")]
