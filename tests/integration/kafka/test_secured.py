"""Brokers that ask who connects: their administrator, everybody else, and data from before they asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sluice.clock import SystemClock
from sluice.devstack.kafka.admin import Administrator, administrator, encrypted_client
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError, UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.login import LoginRefusedError, refuse_login
from sluice.kafka.producer import KafkaPythonProducer
from sluice.kafka.reader import KafkaPythonReader
from sluice.launch.processes import wait_until
from sluice.provisioning.access.administration import Credential
from sluice.settings import settings
from sluice.specs.model.access import Mechanism
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import RunningCluster, free_ports, running, running_cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secured")


@pytest.fixture(scope="module")
def admin(folder: Path) -> Administrator:
    return administrator(folder / "1")


@pytest.fixture(scope="module")
def cluster(folder: Path, admin: Administrator) -> Iterator[RunningCluster]:
    with running_cluster(folder, 2, admin) as cluster:
        admin.admit()
        yield cluster


def named(admin: Administrator, user: str, password: str) -> Mapping[str, str]:
    jaas = admin.client["sasl.jaas.config"].replace('"admin"', f'"{user}"').replace(admin.password, password)
    return {**admin.client, "sasl.jaas.config": jaas}


def in_sync(administration: KafkaPythonAdministration, topic: str) -> set[tuple[int, ...]]:
    return set(administration.describe([topic])[topic].in_sync)


def wait_for_replicas(administration: KafkaPythonAdministration, topic: str) -> None:
    assert wait_until(lambda: in_sync(administration, topic) == {(1, 2)}, SystemClock(), deadline_seconds=120)


def test_the_administrator_may_do_everything(cluster: RunningCluster, admin: Administrator, topic_name: str) -> None:
    with (
        KafkaPythonAdministration(cluster.bootstrap, admin.client) as administration,
        KafkaPythonProducer(cluster.bootstrap, topic_name, admin.client) as producer,
    ):
        assert administration.brokers() == [1, 2]
        administration.create([TopicCreation(topic_name, 1, 2)])
        assert producer.send(b"AA", b"{}").wait().offset == 0
        (record,) = KafkaPythonReader(administration, topic_name).read({0: 0}, {0: 1})
        assert record.value == b"{}"
        assert administration.stamps(topic_name, {0: 0}).keys() == {0}
        administration.set_group("a group", {f"{topic_name}/0": 1})
        wait_for_replicas(administration, topic_name)


@pytest.mark.parametrize(
    ("client", "why"),
    [
        ({}, r"it is encrypted, and the client is not"),
        ({"security.protocol": "SSL"}, r"it requires a login \(SCRAM-SHA-512\), and the client names no user"),
        ({"password": "wrong"}, r"it refuses the user 'admin' \(.*invalid credentials with SASL mechanism"),
        ({"user": "nobody"}, r"it refuses the user 'nobody' \(.*invalid credentials with SASL mechanism"),
        ({"sasl.mechanism": "PLAIN"}, r"it knows SCRAM-SHA-512, and the client wants PLAIN"),
        ({"sasl.jaas.config": ""}, r"the client's `sasl\.jaas\.config` has no username with a password"),
    ],
    ids=["not encrypted", "anonymous", "wrong password", "unknown user", "other mechanism", "no password"],
)
def test_nobody_else_gets_in_and_is_told_why(
    cluster: RunningCluster, admin: Administrator, client: dict[str, str], why: str
) -> None:
    if client:
        whose = named(admin, client.pop("user", "admin"), client.pop("password", admin.password))
        client = {**whose, **client}
    with (
        KafkaPythonAdministration(cluster.bootstrap, client, patience_seconds=1) as administration,
        pytest.raises(LoginRefusedError, match=why) as refused,
    ):
        administration.brokers()
    assert admin.password not in str(refused.value)


def test_what_was_not_granted_is_forbidden(cluster: RunningCluster, admin: Administrator, topic_name: str) -> None:
    with KafkaPythonAdministration(cluster.bootstrap, admin.client) as administration:
        administration.create([TopicCreation(topic_name, 1, 2)])
    with KafkaPythonAccess(cluster.bootstrap, admin.client) as access:
        access.set_password(Credential("guest", Mechanism.SHA_512, 4096), "a guest's")
    guest = named(admin, "guest", "a guest's")

    def is_known() -> bool:
        try:
            refuse_login(cluster.bootstrap, guest)
        except LoginRefusedError:
            return False
        return True

    assert wait_until(is_known, SystemClock(), deadline_seconds=120)
    with KafkaPythonAdministration(cluster.bootstrap, guest) as administration:
        with pytest.raises(UnreachableError, match="TopicAuthorizationFailed"):
            administration.describe([topic_name])
        with pytest.raises(UnreachableError, match="TopicAuthorizationFailed"):
            administration.describe(["another"])
    with (
        KafkaPythonProducer(cluster.bootstrap, topic_name, guest, delivery_seconds=2) as producer,
        pytest.raises(UnreachableError),
    ):
        producer.send(b"AA", b"{}").wait()
    with KafkaPythonAdministration(cluster.bootstrap, admin.client) as administration:
        assert administration.ends(topic_name) == {0: 0}


@pytest.mark.verify
def test_a_broker_that_was_killed_comes_back_and_is_let_in_by_the_other(
    cluster: RunningCluster, admin: Administrator, topic_name: str
) -> None:
    with KafkaPythonAdministration(cluster.bootstrap, admin.client) as administration:
        administration.create([TopicCreation(topic_name, 1, 2)])
        wait_for_replicas(administration, topic_name)
        cluster.kill(2)
        cluster.brokers[1].prepare()
        cluster.start(2)
        with KafkaPythonProducer(cluster.bootstrap[:1], topic_name, admin.client) as producer:
            assert producer.send(b"AA", b"{}").wait().offset == 0
        wait_for_replicas(administration, topic_name)


def test_the_password_is_where_it_has_to_be_and_nowhere_else(
    cluster: RunningCluster, admin: Administrator, folder: Path
) -> None:
    def holds(path: Path) -> bool:
        return path.is_file() and admin.password.encode() in path.read_bytes()

    holding = {str(path.relative_to(folder)): path for path in folder.rglob("*") if holds(path)}
    assert set(holding) == {"1/admin.properties", "1/server.properties", "2/server.properties"}
    assert {path.stat().st_mode & 0o777 for path in holding.values()} == {0o600}
    for process in cluster.processes.values():
        seen = psutil.Process(process.pid)
        assert admin.password not in " ".join([*seen.cmdline(), *seen.environ().values()])


@pytest.mark.verify
def test_a_broker_that_knows_another_password_says_what_to_do(cluster: RunningCluster, tmp_path: Path) -> None:
    authority = cluster.brokers[0].client["ssl.ca.location"]
    admin = administrator(tmp_path)
    (tmp_path / "tls").mkdir()
    (tmp_path / "tls" / "ca.pem").write_bytes(Path(authority).read_bytes())
    stranger = replace(cluster.brokers[0], admin=admin)
    with pytest.raises(
        NotReadyError, match=r"refuses the user 'admin' .* Fix: run `sluice down`, remove .*admin\.properties"
    ):
        stranger.wait_ready(30)


def test_a_client_with_a_password_is_told_that_an_open_broker_asks_nobody(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    client = {**administrator(tmp_path).client, "security.protocol": "SASL_PLAINTEXT"}
    with (
        KafkaPythonAdministration([broker.bootstrap], client, patience_seconds=1) as administration,
        pytest.raises(LoginRefusedError, match="it does not authenticate clients, and the client names a user"),
    ):
        administration.brokers()
    refuse_login([broker.bootstrap], {})


@pytest.mark.verify
def test_records_from_before_stay_when_brokers_begin_to_ask_and_when_they_stop(tmp_path: Path) -> None:
    port, controller = free_ports()
    opened = BrokerProcess(tmp_path / "kafka", port, controller, settings().jars)
    opened.prepare()
    with (
        running(opened),
        KafkaPythonAdministration([opened.bootstrap]) as administration,
        KafkaPythonProducer([opened.bootstrap], "flights") as producer,
    ):
        administration.create([TopicCreation("flights", 1, 1)])
        before = administration.describe(["flights"])
        assert producer.send(b"AA", b"{}").wait().offset == 0

    admin = administrator(opened.folder)
    secured = replace(opened, admin=admin)
    secured.prepare()
    with running(secured), KafkaPythonAdministration([secured.bootstrap], admin.client) as administration:
        admin.admit()
        with pytest.raises(LoginRefusedError, match="the client names no user"):
            refuse_login([secured.bootstrap], encrypted_client(secured.folder))
        assert (administration.describe(["flights"]), administration.ends("flights")) == (before, {0: 1})

    opened.prepare()
    with running(opened), KafkaPythonAdministration([opened.bootstrap]) as administration:
        assert (administration.describe(["flights"]), administration.ends("flights")) == (before, {0: 1})
