"""`sluice access` against the broker that `sluice up --secure` starts, with the project's own specs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli import access
from sluice.devstack.kafka.admin import USER, administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.client.login import LoginRefusedError, refuse_login
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.provisioning.access.acl import Acl, Resource, Right
from sluice.settings import Settings, settings
from sluice.specs.model.access import Operation, ResourceKind
from tests.integration.brokers import free_ports, running

STREAM = """\
name: stream
user: sluice-stream
role: stream
hosts: [127.0.0.1]
scram: {password_variable: SLUICE_PASSWORD_STREAM}
"""
WATCHER = """\
name: watcher
user: sluice-watcher
role: watcher
hosts: ["*"]
widens: [host]
"""


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A stack's state folder with its broker, as far as the command line sees it."""
    state = tmp_path_factory.mktemp("state")
    admin = administrator(state / "kafka")
    broker = BrokerProcess(state / "kafka", *free_ports(), settings().jars, admin=admin)
    broker.prepare()
    with running(broker):
        admin.admit()
        endpoints = Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url="", kafka_secured=True)
        write_endpoints(Settings(state=state).folder, endpoints)
        yield broker


@pytest.fixture
def specs(embedded: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a private project with one principal, on a cluster without any; return the folder of principals."""
    home = settings().home
    for folder in ("include", "spark_jobs"):
        ignored = shutil.ignore_patterns("sluice", "__pycache__", "access")
        shutil.copytree(home / folder, tmp_path / folder, ignore=ignored)
    folder = tmp_path / "include/access"
    folder.mkdir()
    (tmp_path / "include/deployments/local.yaml").write_text("name: local\nkafka: {kind: embedded}\n")
    (folder / "stream.yaml").write_text(STREAM)
    for key, value in (("HOME", str(tmp_path)), ("STATE", str(embedded.folder.parent)), ("DEPLOYMENT", "local")):
        monkeypatch.setenv(f"SLUICE_{key}", value)
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM", "correct horse")
    settings.cache_clear()
    with KafkaPythonAccess([embedded.bootstrap], embedded.client) as cluster:
        cluster.revoke(cluster.acls())
        for credential in cluster.credentials():
            if credential.user != USER:
                cluster.drop_password(credential.user, credential.mechanism)
    return folder


def lets_in(broker: BrokerProcess, password: str) -> bool:
    """Whether the stream's user logs in with a password."""
    assert broker.admin is not None
    client = dict(broker.client)
    for old, new in ((f'"{USER}"', '"sluice-stream"'), (broker.admin.password, password)):
        client["sasl.jaas.config"] = client["sasl.jaas.config"].replace(old, new)
    try:
        refuse_login([broker.bootstrap], client)
    except LoginRefusedError:
        return False
    return True


def lets_in_soon(broker: BrokerProcess, password: str) -> bool:
    """Whether that comes to be so: a broker hears of a password a moment after its controller has taken it."""
    until = time.monotonic() + 30
    while not (found := lets_in(broker, password)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def run(*arguments: str) -> str:
    done = CliRunner().invoke(access.app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "horse" not in done.output, "no password is ever shown"
    return done.stdout


def items(*arguments: str) -> list[dict[str, str]]:
    found = json.loads(run("plan", "-o", "json", *arguments))["items"]
    assert isinstance(found, list)
    return found


def test_what_is_safe_is_applied_once_and_lets_the_user_in(specs: Path, embedded: BrokerProcess) -> None:
    assert specs.is_dir()
    text = run("plan")
    assert "+ User:sluice-stream: read topic flights from 127.0.0.1 is absent, declared allowed\n" in text
    assert "from SLUICE_PASSWORD_STREAM\n" in text
    assert "To apply it, run `sluice access apply`." in text
    planned = items()
    assert [(item["change"], item["risk"]) for item in planned] == [("set password", "safe"), ("grant", "safe")]
    assert json.loads(run("apply", "-o", "json"))["applied"] == planned
    assert items() == []
    assert run("plan").endswith("1 principal is as declared; nothing to do.\n")
    assert run("apply") == "1 principal is as declared.\n"
    assert lets_in_soon(embedded, "correct horse")
    listed = json.loads(run("list", "-o", "json"))
    (right,) = listed["acls"]
    assert (right["principal"], right["spec"], right["right"]["operation"]) == ("User:sluice-stream", "stream", "read")
    assert {"user": "sluice-stream", "mechanism": "SCRAM-SHA-512", "iterations": 8192} in listed["users"]
    assert "read topic flights from 127.0.0.1" in run("list")


def test_what_opens_something_is_applied_only_by_name(specs: Path) -> None:
    (specs / "stream.yaml").unlink()
    (specs / "watcher.yaml").write_text(WATCHER)
    text = run("plan")
    assert "!! User:sluice-watcher: describe topic flights from any host" in text
    assert "[widening: it holds from every host]" in text
    identity = json.loads(run("plan", "-o", "json"))["id"]
    assert f"`sluice access apply --plan {identity} --widening 'User:sluice-watcher'`" in text
    for arguments, why in (
        ((), "has changes that have to be approved"),
        (("--widening", "User:sluice-watcher"), "needs --plan"),
        (("--plan", identity), "which the approval does not name"),
    ):
        with pytest.raises(RefusedError, match=why):
            run("apply", *arguments)
    assert json.loads(run("list", "-o", "json"))["acls"] == []
    run("apply", "--plan", identity, "--widening", "User:sluice-watcher")
    assert items() == []


def test_the_clusters_administrator_is_in_no_spec_and_stays(specs: Path) -> None:
    assert specs.is_dir()
    kept = json.loads(run("plan", "-o", "json"))["kept"]
    assert [(each["principal"], each["value"]) for each in kept] == [(f"User:{USER}", "password")]
    assert f"  User:{USER}: password ({kept[0]['current']}) is in no spec, and stays\n" in run("plan")


def test_a_right_from_elsewhere_is_revoked_after_approval_and_that_of_others_stays(
    specs: Path, embedded: BrokerProcess
) -> None:
    assert specs.is_dir()
    run("apply")
    right = Right(Resource(ResourceKind.TOPIC, "flights"), Operation.WRITE)
    with KafkaPythonAccess([embedded.bootstrap], embedded.client) as cluster:
        cluster.grant([Acl(f"User:{user}", right, "*") for user in ("sluice-stream", "somebody")])
    (item,) = items()
    assert (item["change"], item["principal"], item["risk"]) == ("revoke", "User:sluice-stream", "approval")
    assert "  User:somebody: write topic flights from any host (allowed) is in no spec, and stays\n" in run("plan")
    run("apply", "--plan", json.loads(run("plan", "-o", "json"))["id"])
    assert {acl["principal"] for acl in json.loads(run("list", "-o", "json"))["acls"] if acl["host"] == "*"} == {
        "User:somebody"
    }


def test_a_password_is_rotated_on_request(
    specs: Path, embedded: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert specs.is_dir()
    run("apply")
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM", "horse of another colour")
    (item,) = items("--rotate", "sluice-stream")
    assert (item["change"], item["risk"]) == ("set password", "approval")
    identity = json.loads(run("plan", "-o", "json", "--rotate", "sluice-stream"))["id"]
    run("apply", "--plan", identity, "--rotate", "sluice-stream")
    assert lets_in_soon(embedded, "horse of another colour")
    assert not lets_in(embedded, "correct horse")
    with pytest.raises(SpecError, match="again for ghost, and no spec"):
        run("plan", "--rotate", "ghost")


def test_with_a_password_that_cannot_be_meant_nothing_is_applied(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert specs.is_dir()
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM", "correct horse\n")
    with pytest.raises(NotReadyError, match="ends with a blank or a line") as missing:
        run("apply")
    assert "SLUICE_PASSWORD_STREAM" in str(missing.value)
    assert "horse" not in str(missing.value)
    listed = json.loads(run("list", "-o", "json"))
    assert (listed["acls"], [user["user"] for user in listed["users"]]) == ([], [USER])


def test_a_password_that_nobody_has_set_is_drawn_once(
    specs: Path, embedded: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert specs.is_dir()
    monkeypatch.delenv("SLUICE_PASSWORD_STREAM")
    said = run("apply")
    drawn = (embedded.folder / "passwords" / "SLUICE_PASSWORD_STREAM").read_text()
    assert drawn not in said
    assert lets_in_soon(embedded, drawn)
    assert "1 principal is as declared" in run("apply")


def test_a_wrong_spec_is_told_before_anybody_is_asked(specs: Path) -> None:
    (specs / "stream.yaml").write_text(STREAM.replace("[127.0.0.1]", '["*"]'))
    with pytest.raises(SpecError, match=r"include/access/stream\.yaml:4: hosts: \* is every host"):
        run("apply")
