"""A password that is read with each connection: both clients are told where, and an unreadable one ends nothing."""

from __future__ import annotations

import logging
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl import get_sasl_mechanism

from sluice.kafka.client.connection import client_arguments
from sluice.kafka.client.credentials import LOGIN_SOURCE, as_user, by_token
from sluice.kafka.client.current_password import CurrentPassword
from sluice.kafka.client.java_client import java_settings
from sluice.secrecy.secret_values import SecretSource
from tests.token_issuer import TokenIssuer, issuing

FIRST, SECOND = "the first secret", "the second secret"
FORM = "SLUICE_PASSWORD_STREAM_FILE"
COMMAND = "SLUICE_PASSWORD_STREAM_COMMAND"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "secret=1"
    file.write_text(f"{FIRST}\n")
    return file


def login_of(file: Path, mechanism: str) -> dict[str, str]:
    return as_user({}, "sluice", FIRST, mechanism, source=SecretSource(FORM, str(file)))


def test_each_login_by_plain_says_the_password_as_it_is_then(file: Path) -> None:
    arguments = client_arguments(login_of(file, "PLAIN"))
    login = get_sasl_mechanism("PLAIN")
    assert login(**arguments).auth_bytes() == f"sluice\0sluice\0{FIRST}".encode()
    file.write_text(SECOND)
    assert login(**arguments).auth_bytes() == f"sluice\0sluice\0{SECOND}".encode()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_each_login_by_scram_proves_the_password_as_it_is_then(file: Path, mechanism: str) -> None:
    def proof(arguments: dict[str, object]) -> bytes:
        login = get_sasl_mechanism(mechanism)(**arguments)
        login._scram_client.nonce = b"nonce"
        login.auth_bytes()
        login._scram_client.process_server_first_message(b"r=nonce1,s=c2FsdA==,i=4096")
        return bytes(login._scram_client.final_message())

    def of_text(password: str) -> bytes:
        return proof(client_arguments(as_user({}, "sluice", password, mechanism)))

    rereading = client_arguments(login_of(file, mechanism))
    assert proof(rereading) == of_text(FIRST) != of_text(SECOND)
    file.write_text(SECOND)
    assert proof(rereading) == of_text(SECOND)


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.write_text(""), lambda file: file.write_bytes(b"\xff")]
)
def test_the_password_of_before_is_used_while_none_can_be_read_and_the_log_says_so(
    file: Path, spoil: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    password = CurrentPassword("never read", SecretSource(FORM, str(file)))
    assert password.now() == FIRST
    spoil(file)
    with caplog.at_level(logging.WARNING):
        assert password.now() == FIRST
    assert f"the one before is used: {FORM}" in caplog.text
    assert FIRST not in caplog.text


def test_a_token_is_asked_for_by_the_secret_as_it_is_then(file: Path) -> None:
    source = SecretSource(FORM, str(file))
    with issuing(TokenIssuer(clients={"sluice": FIRST}, seconds=0)) as issuer:
        client = by_token({}, "sluice", FIRST, endpoint=issuer.endpoint, source=source)
        provider = client_arguments(client)["sasl_oauth_token_provider"]
        provider.token()
        issuer.clients["sluice"] = SECOND
        file.write_text(SECOND)
        assert provider.token() == issuer.given[1]
    assert java_settings(client)["sasl.oauthbearer.jwt.retriever.class"] == "sluice.kafka.CurrentClientSecret"


def test_javas_client_is_told_where_and_by_which_class_of_ours(file: Path) -> None:
    java = java_settings(login_of(file, "SCRAM-SHA-512"))
    assert java[LOGIN_SOURCE] == f"{FORM}={file}"
    assert java["sasl.client.callback.handler.class"] == "sluice.kafka.CurrentPassword"


def test_a_password_in_its_very_variable_stays_what_it_is() -> None:
    client = as_user({}, "sluice", FIRST, "PLAIN")
    assert LOGIN_SOURCE not in client
    assert "sasl.client.callback.handler.class" not in java_settings(client)
    assert client_arguments(client)["sasl_plain_password"] == FIRST


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=3))
def test_a_shell_runs_a_command_as_it_is_run_without_one(words: list[str]) -> None:
    source = SecretSource(COMMAND, shlex.join([sys.executable, *words]))
    quoted = SecretSource.of(source.for_shell()).where
    assert shlex.split(quoted) == [sys.executable, *words]
    assert "\n" not in quoted or any("\n" in word for word in words)


def test_a_shell_expands_nothing_of_a_command() -> None:
    source = SecretSource(COMMAND, r"""printf '%s' "$HOME; `id`" '' \$x""")
    quoted = SecretSource.of(source.for_shell()).where
    done = subprocess.run(["/bin/sh", "-c", f"exec {quoted}"], capture_output=True, text=True, check=True)
    assert done.stdout == "$HOME; `id`$x"


def test_where_a_secret_is_is_not_shown_by_accident(file: Path) -> None:
    assert str(file) not in repr(SecretSource(FORM, str(file)))
