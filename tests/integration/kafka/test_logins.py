"""Processes of the shipped project connect as the users of their roles, and can do no more than these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.kafka.security import store_security
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.login import LoginRefusedError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.provisioning.apply import apply
from sluice.settings import Settings, settings
from sluice.specs.model.access import Role
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import free_ports, running

USERS = {Role.FEED: "sluice-feed", Role.STREAM: "sluice-stream", Role.WATCHER: "sluice-watcher"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The shipped project with a broker as `sluice up --secure` starts it, before anything was applied."""
    state = tmp_path_factory.mktemp("state")
    admin = administrator(state / "kafka")
    broker = BrokerProcess(state / "kafka", *free_ports(), settings().jars, admin=admin)
    broker.prepare()
    with running(broker):
        admin.admit()
        place = Settings(home=settings().home, state=state, jars=settings().jars)
        write_endpoints(place.folder, Endpoints((broker.bootstrap,), "", kafka_secured=True))
        place.folder.supervisor.mkdir(parents=True, exist_ok=True)
        store_security(place, secured=True)
        yield Project.open_strict(place)


def test_before_the_first_plan_is_applied_it_is_said_what_is_missing(project: Project) -> None:
    for role in USERS:
        with pytest.raises(NotReadyError, match="no password was drawn for it"):
            project.kafka.client(role)


def test_each_connects_as_its_user_and_is_refused_what_its_role_does_not_need(project: Project) -> None:
    done, _ = apply(project.topics.declared(), project.kafka.administration(), project.topics.access())
    assert {item.subject for item in done.changes} == {"flights", *(f"User:{user}" for user in USERS.values())}
    assert not apply(project.topics.declared(), project.kafka.administration(), project.topics.access())[0]
    for role, user in USERS.items():
        assert f'username="{user}"' in project.kafka.client(role)["sasl.jaas.config"]
        with project.kafka.administration(role) as cluster:
            assert not isinstance(cluster.extents(["flights"])["flights"], SluiceError)
            with pytest.raises(RefusedError):
                cluster.create([TopicCreation("other", 1, 1)])
    assert 'username="admin"' in project.kafka.client()["sasl.jaas.config"]


def test_their_passwords_differ_are_nobody_elses_to_read_and_are_in_no_other_file(project: Project) -> None:
    folder = project.folder.kafka / "passwords"
    drawn = {file.name: file.read_text() for file in folder.iterdir()}
    assert set(drawn) == {f"SLUICE_PASSWORD_{role.upper()}" for role in USERS}
    assert len(set(drawn.values())) == len(drawn)
    assert {file.stat().st_mode & 0o077 for file in folder.iterdir()} == {0}
    for path in project.settings.state.rglob("*"):
        if path.is_file() and path.parent != folder:
            content = path.read_bytes()
            assert not [name for name, password in drawn.items() if password.encode() in content], path


def test_a_password_from_a_file_is_tried_and_a_wrong_one_is_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("not this one\n")
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM_FILE", str(file))
    client = project.kafka.client(Role.STREAM)
    assert 'password="not this one"' in client["sasl.jaas.config"]
    with (
        KafkaPythonAdministration(project.kafka.bootstrap(), client, patience_seconds=2) as cluster,
        pytest.raises(LoginRefusedError, match="refuses the user 'sluice-stream'"),
    ):
        cluster.extents(["flights"])
