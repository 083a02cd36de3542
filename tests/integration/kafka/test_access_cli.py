"""`sluice access` against a broker with an authorizer, with the project's own specs in another deployment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from typer.testing import CliRunner

from sluice.access.acl import Acl, Resource, Right
from sluice.cli import access
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.connection import client_arguments
from sluice.settings import settings
from sluice.specs.access import Operation, ResourceKind
from tests.integration.secured import SecuredBroker

DEPLOYMENT = """\
name: elsewhere
kafka: {{kind: external, bootstrap: ["{bootstrap}"]}}
"""
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


@pytest.fixture
def specs(secured: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a private project with one principal, on a cluster without any; return the folder of principals."""
    home = settings().home
    for folder in ("include", "spark_jobs"):
        ignored = shutil.ignore_patterns("sluice", "__pycache__")
        shutil.copytree(home / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "include/deployments/elsewhere.yaml").write_text(DEPLOYMENT.format(bootstrap=secured.everything))
    folder = tmp_path / "include/access"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "stream.yaml").write_text(STREAM)
    for key, value in (("HOME", str(tmp_path)), ("STATE", "state"), ("DEPLOYMENT", "elsewhere")):
        monkeypatch.setenv(f"SLUICE_{key}", value)
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM", "correct horse")
    settings.cache_clear()
    with KafkaPythonAccess([secured.everything]) as cluster:
        cluster.revoke(cluster.acls())
        for credential in cluster.credentials():
            cluster.drop_password(credential.user, credential.mechanism)
    yield folder
    settings.cache_clear()


def run(*arguments: str) -> str:
    done = CliRunner().invoke(access.app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "horse" not in done.output, "no password is ever shown"
    return done.stdout


def items(*arguments: str) -> list[dict[str, str]]:
    found = json.loads(run("plan", "-o", "json", *arguments))["items"]
    assert isinstance(found, list)
    return found


def test_what_is_safe_is_applied_once_and_lets_the_user_in(specs: Path, secured: SecuredBroker) -> None:
    assert specs.is_dir()
    text = run("plan")
    assert "+ User:sluice-stream: read topic flights from 127.0.0.1 is absent, declared allowed\n" in text
    assert "from SLUICE_PASSWORD_STREAM\n" in text
    assert "apply it by `sluice access apply`." in text
    planned = items()
    assert [(item["change"], item["risk"]) for item in planned] == [("set password", "safe"), ("grant", "safe")]
    assert json.loads(run("apply", "-o", "json"))["applied"] == planned
    assert items() == []
    assert run("plan") == "1 principal is as declared; nothing to do.\n"
    assert run("apply") == "1 principal is as declared.\n"
    arguments = client_arguments(secured.client("sluice-stream", "correct horse"))
    with closing(KafkaAdminClient(bootstrap_servers=secured.bootstrap, **arguments)) as client:
        assert client.list_topics() == []

    listed = json.loads(run("list", "-o", "json"))
    (right,) = listed["acls"]
    assert (right["principal"], right["spec"], right["right"]["operation"]) == ("User:sluice-stream", "stream", "read")
    assert listed["users"] == [{"user": "sluice-stream", "mechanism": "SCRAM-SHA-512", "iterations": 8192}]
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
        ((), "has changes that somebody has to approve"),
        (("--widening", "User:sluice-watcher"), "no plan is"),
        (("--plan", identity), "nobody has said that it may be"),
    ):
        with pytest.raises(RefusedError, match=why):
            run("apply", *arguments)
    assert json.loads(run("list", "-o", "json"))["acls"] == []
    run("apply", "--plan", identity, "--widening", "User:sluice-watcher")
    assert items() == []


def test_a_right_from_elsewhere_is_revoked_after_approval_and_that_of_others_stays(
    specs: Path, secured: SecuredBroker
) -> None:
    assert specs.is_dir()
    run("apply")
    right = Right(Resource(ResourceKind.TOPIC, "flights"), Operation.WRITE)
    with KafkaPythonAccess([secured.everything]) as cluster:
        cluster.grant([Acl(f"User:{user}", right, "*") for user in ("sluice-stream", "somebody")])
    (item,) = items()
    assert (item["change"], item["principal"], item["risk"]) == ("revoke", "User:sluice-stream", "approval")
    assert "  User:somebody: write topic flights from any host (allowed) is in no spec, and stays\n" in run("plan")
    run("apply", "--plan", json.loads(run("plan", "-o", "json"))["id"])
    assert {acl["principal"] for acl in json.loads(run("list", "-o", "json"))["acls"] if acl["host"] == "*"} == {
        "User:somebody"
    }


def test_a_password_is_rotated_on_request(specs: Path, secured: SecuredBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert specs.is_dir()
    run("apply")
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM", "horse of another colour")
    (item,) = items("--rotate", "sluice-stream")
    assert (item["change"], item["risk"]) == ("set password", "approval")
    identity = json.loads(run("plan", "-o", "json", "--rotate", "sluice-stream"))["id"]
    run("apply", "--plan", identity, "--rotate", "sluice-stream")
    arguments = client_arguments(secured.client("sluice-stream", "horse of another colour"))
    with closing(KafkaAdminClient(bootstrap_servers=secured.bootstrap, **arguments)) as client:
        assert client.list_topics() == []
    with pytest.raises(SpecError, match="anew for ghost, and no spec"):
        run("plan", "--rotate", "ghost")


@pytest.mark.parametrize(
    ("value", "why"), [("", "is not set here"), ("correct horse\n", "ends with a blank or a line")]
)
def test_without_a_password_nothing_is_applied(
    specs: Path, monkeypatch: pytest.MonkeyPatch, value: str, why: str
) -> None:
    assert specs.is_dir()
    monkeypatch.setenv("SLUICE_PASSWORD_STREAM", value)
    with pytest.raises(NotReadyError, match=why) as missing:
        run("apply")
    assert "SLUICE_PASSWORD_STREAM" in str(missing.value)
    assert "horse" not in str(missing.value)
    assert json.loads(run("list", "-o", "json")) == {"acls": [], "users": []}


def test_a_wrong_spec_is_told_before_anybody_is_asked(specs: Path) -> None:
    (specs / "stream.yaml").write_text(STREAM.replace("[127.0.0.1]", '["*"]'))
    with pytest.raises(SpecError, match=r"include/access/stream\.yaml:4: hosts: \* is every host"):
        run("apply")
