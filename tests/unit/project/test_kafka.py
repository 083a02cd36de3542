"""What a process needs to connect is observed first: a client without its files says that nobody answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.errors import NotConfiguredError, NotReadyError
from sluice.kafka.client.credentials import TOKEN_AUTHORITIES
from sluice.project.project import Project
from sluice.settings import Settings
from tests.certificates import make_authority
from tests.unit.specs.bench import DEPLOYMENT_FILE, Bench, sound_project

KEY_PASSWORD = "of the key"  # noqa: S105 - of a test


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sound_project(tmp_path / "project")


def project(bench: Bench, *settings: str) -> Project:
    bench.edit(DEPLOYMENT_FILE, "client.id: shop", "\n    ".join(["client.id: shop", *settings]))
    return Project.open_strict(Settings(home=bench.home, deployment="prod"))


def test_every_file_that_cannot_be_used_here_is_named_with_what_was_found(bench: Bench) -> None:
    there = bench.write("ca.pem", "a certificate")
    files = f"ssl.ca.location: {there}", f"ssl.keystore.location: {bench.home}/none.pem"
    found = r"names: /.*/ca\.pem holds no certificate in PEM; /.*/none\.pem is not there\. Fix: write .* put the file"
    with pytest.raises(NotReadyError, match=found):
        project(bench, "security.protocol: SSL", *files).kafka.client()


def test_files_that_can_be_used_are_passed_on(bench: Bench) -> None:
    ca = make_authority(bench.home).ca
    client = project(bench, "security.protocol: SSL", f"ssl.ca.location: {ca}").kafka.client()
    assert client == {"client.id": "shop", "security.protocol": "SSL", "ssl.ca.location": str(ca)}


@pytest.fixture
def encrypted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A deployment with a client's own certificate, whose key is encrypted, and a login."""
    authority = make_authority(bench.home)
    own = authority.issue("client", password=KEY_PASSWORD)
    monkeypatch.setenv("SLUICE_PASSWORD_KEY", KEY_PASSWORD)
    monkeypatch.setenv("SLUICE_PASSWORD_ALL", "of the user")
    keys = f"ca: {authority.ca}, certificate: {own.certificate}, key: {own.key}"
    tls = f"tls: {{{keys}, key_password_variable: SLUICE_PASSWORD_KEY}}"
    login = "login: {user: sluice, password_variable: SLUICE_PASSWORD_ALL}"
    bench.edit(DEPLOYMENT_FILE, "    client.id: shop", f"    client.id: shop\n  {tls}\n  {login}")
    return bench


def opened(bench: Bench) -> Project:
    return Project.open_strict(Settings(home=bench.home, deployment="prod"))


def test_the_protocol_follows_from_tls_and_login(encrypted: Bench) -> None:
    client = opened(encrypted).kafka.client()
    home = encrypted.home
    assert {name: value for name, value in client.items() if not name.startswith("sasl.jaas")} == {
        "client.id": "shop",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.ca.location": f"{home}/ca.pem",
        "ssl.certificate.location": f"{home}/client.crt",
        "ssl.key.location": f"{home}/client.key",
        "ssl.key.password": KEY_PASSWORD,
    }
    encrypted.edit(DEPLOYMENT_FILE, "  login: {user: sluice, password_variable: SLUICE_PASSWORD_ALL}", "")
    assert opened(encrypted).kafka.client()["security.protocol"] == "SSL"


def test_a_key_whose_password_is_not_set_is_not_configured(encrypted: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_PASSWORD_KEY")
    with pytest.raises(NotConfiguredError, match="SLUICE_PASSWORD_KEY is not set here"):
        opened(encrypted).kafka.client()


def test_drivers_get_the_variables_of_the_key_and_of_the_login(
    encrypted: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = opened(encrypted).processes
    assert {"SLUICE_PASSWORD_KEY", "SLUICE_PASSWORD_ALL"} <= processes.inherited_by_unit("shop")
    assert {"SLUICE_PASSWORD_KEY_FILE", "SLUICE_PASSWORD_ALL_FILE"} <= processes.inherited_by_batch("sales")
    monkeypatch.delenv("SLUICE_PASSWORD_KEY")
    assert processes.unset("shop") == ("SLUICE_PASSWORD_KEY",)


def test_a_login_by_tokens_asks_the_issuer_of_the_deployment(encrypted: Bench) -> None:
    token = (
        f"mechanism: OAUTHBEARER, token: {{endpoint: 'http://localhost:1/t', scope: all, ca: {encrypted.home}/ca.pem}}"
    )
    encrypted.edit(DEPLOYMENT_FILE, "SLUICE_PASSWORD_ALL}", f"SLUICE_PASSWORD_ALL, {token}}}")
    client = opened(encrypted).kafka.client()
    assert client["security.protocol"] == "SASL_SSL"
    assert client["sasl.oauthbearer.token.endpoint.url"] == "http://localhost:1/t"
    assert client["sasl.oauthbearer.client.credentials.client.secret"] == "of the user"
    assert client[TOKEN_AUTHORITIES] == f"{encrypted.home}/ca.pem"
    encrypted.edit(DEPLOYMENT_FILE, f"scope: all, ca: {encrypted.home}/ca.pem", f"ca: {encrypted.home}/gone.pem")
    with pytest.raises(NotReadyError, match=r"gone\.pem is not there"):
        opened(encrypted).kafka.client()
