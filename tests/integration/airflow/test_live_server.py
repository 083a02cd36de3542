"""`sluice serve` beside Airflow: its tokens and cookies open what its permissions show, and nothing else does."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from airflow.api_fastapi.app import create_auth_manager, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from sluice.airflow.web.live_server import token_gate
from sluice.clock import SystemClock
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve.app import create_serve
from sluice.serve.hub import Hub
from sluice.settings import settings
from tests.certificates import make_authority
from tests.unit.serve.conftest import silent

API = "/api/departures/departures_live"


@pytest.fixture
def stranger(airflow_database: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Somebody without a token."""
    assert airflow_database.is_file()
    create_auth_manager()
    monkeypatch.setattr("sluice.live.follower.Follower.start", lambda _: None)
    hub = Hub(ReloadingProject(lambda: project), silent, lambda _pipeline, _event: None, lambda _: {}, SystemClock())
    hub.refresh()
    yield TestClient(create_serve(hub, token_gate))
    hub.stop()


def token(role: str = "viewer") -> str:
    return get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="ada", role=role))


def test_no_route_is_open_without_a_token(stranger: TestClient) -> None:
    names = {"name": "serve.js", "pipeline": "departures", "output": "departures_live"}
    paths = [route.path.format(**names) for route in stranger.app.routes if isinstance(route, APIRoute)]  # type: ignore[attr-defined]
    assert len(paths) == 8
    for path in paths:
        assert stranger.get(path).status_code == 401, path


@pytest.mark.parametrize("shown", ["nonsense", "a.b.c", ""])
def test_what_is_no_token_opens_nothing(stranger: TestClient, shown: str) -> None:
    assert stranger.get(API, headers={"Authorization": f"Bearer {shown}"}).status_code == 401
    assert stranger.get(API, cookies={"_token": shown}).status_code == 401


def test_a_token_of_airflow_opens_in_the_header_and_as_the_cookie_of_its_pages(stranger: TestClient) -> None:
    assert stranger.get(API, headers={"Authorization": f"Bearer {token()}"}).json()["output"] == "departures_live"
    assert stranger.get("/", cookies={"_token": token()}).status_code == 200


def test_a_token_of_another_airflow_opens_nothing(stranger: TestClient) -> None:
    head, _, rest = token().partition(".")
    forged = f"{head}.{rest[:-4]}AAAA"
    assert stranger.get(API, headers={"Authorization": f"Bearer {forged}"}).status_code == 401


def test_what_airflow_hides_is_not_there(stranger: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.airflow.web.console.AirflowVisitor.readable", lambda _self, _dags: ())
    headers = {"Authorization": f"Bearer {token()}"}
    assert stranger.get(API, headers=headers).status_code == 404
    assert stranger.get("/api", headers=headers).json() == {"outputs": []}


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `sluice serve`, and give its address."""
    code = "import sys; from sluice.cli.main import main; sys.argv = ['sluice', 'serve', *sys.argv[1:]]; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--port", "0", *options],
        env={**os.environ, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"https?://127\.0\.0\.1:\d+", said)
        yield (found[0] if found else said), process
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.verify
def test_the_command_goes_on_as_a_process_of_airflows(airflow_database: Path, tmp_path: Path) -> None:
    place = {"SLUICE_HOME": str(settings().home), "SLUICE_STATE": str(tmp_path)}
    with serving(AIRFLOW_HOME=str(airflow_database.parent), **place) as (address, _):
        request = urllib.request.Request(f"{address}/api")  # noqa: S310 - loopback
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(request, timeout=120)  # noqa: S310 - the same


@pytest.mark.parametrize("beside_airflow", [pytest.param(True, marks=pytest.mark.verify), False])
def test_with_a_certificate_it_encrypts(airflow_database: Path, tmp_path: Path, *, beside_airflow: bool) -> None:
    authority = make_authority(tmp_path)
    own = authority.issue("serve").both
    place = {"SLUICE_HOME": str(settings().home), "SLUICE_STATE": str(tmp_path / "state")}
    place["AIRFLOW_HOME"] = str(airflow_database.parent) if beside_airflow else ""
    options = ("--certificate", str(own), *(() if beside_airflow else ("--without-login",)))
    with serving(*options, **place) as (address, _):
        assert address.startswith("https://")
        known = ssl.create_default_context(cafile=str(authority.ca))
        try:
            with urllib.request.urlopen(f"{address}/api", timeout=120, context=known) as answer:  # noqa: S310 - loopback
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
        assert status == (401 if beside_airflow else 200)
        with pytest.raises(OSError, match=r"Remote end closed|reset|BadStatusLine"):
            urllib.request.urlopen(address.replace("https", "http"), timeout=120)  # noqa: S310 - the same


def test_without_airflow_it_serves_this_machine_alone(tmp_path: Path) -> None:
    place = {"SLUICE_HOME": str(settings().home), "SLUICE_STATE": str(tmp_path), "AIRFLOW_HOME": ""}
    with serving("--without-login", **place) as (address, _):
        with urllib.request.urlopen(f"{address}/", timeout=120) as answer:  # noqa: S310 - loopback
            page = answer.read().decode()
        assert "Without a login: this machine only." in page
        assert "departures_live" in page
        request = urllib.request.Request(f"{address}/api", headers={"Host": "evil.example"})  # noqa: S310 - the same
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=120)  # noqa: S310 - the same


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        ((), "tokens cannot be checked", 3),
        (("--without-login", "--certificate", "/none.pem"), "/none.pem cannot be used to encrypt: No such file", 3),
        (("--without-login", "--certificate", __file__), "holds a private key without a password", 3),
        (("--without-login", "--host", "0.0.0.0"), "could read the values", 2),  # noqa: S104 - refused
    ],
)
def test_what_would_be_open_is_refused(tmp_path: Path, options: tuple[str, ...], words: str, code: int) -> None:
    place = {"SLUICE_HOME": str(settings().home), "SLUICE_STATE": str(tmp_path), "AIRFLOW_HOME": ""}
    with serving(*options, **place) as (said, process):
        assert process.stderr is not None
        assert words in " ".join((said + process.stderr.read()).split())
        assert process.wait(30) == code
