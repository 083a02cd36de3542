"""A secret comes from a variable, a file or a command, one of them; no error, log or process shows it."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sluice.airflow.secret_connections import SecretConnections
from sluice.alerts.redaction import Redaction
from sluice.clock import SystemClock
from sluice.errors import NotConfiguredError
from sluice.launch.processes import wait_until
from sluice.project.environments import how_to_set
from sluice.secrecy import secret_values
from sluice.secrecy.secret_values import forms, is_given, read_secret, read_so_far
from sluice.settings import Settings, connection_url, control_url, is_set, password, registry_login

NAME = "SLUICE_PASSWORD_STREAM"
FILE, COMMAND = f"{NAME}_FILE", f"{NAME}_COMMAND"
SECRET = "correct-horse-battery"  # noqa: S105 - a secret of nothing

TEXTS: SearchStrategy[str] = st.text(min_size=1, max_size=60).filter(lambda text: text == text.rstrip("\r\n"))


@pytest.fixture(autouse=True)
def _nothing_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_values, "_read", {})
    for name in [name for name in os.environ if name.startswith(("SLUICE_PASSWORD", "SLUICE_CO", "SLUICE_REG"))]:
        monkeypatch.delenv(name)


def printing(code: str) -> str:
    """Return a command that runs some Python."""
    return shlex.join([sys.executable, "-S", "-c", code])


@given(TEXTS, st.sampled_from(["", "\n", "\r\n", "\n\n"]))
def test_a_file_holds_the_secret_to_the_last_letter_and_line_breaks_at_its_end_are_none_of_it(
    tmp_path_factory: pytest.TempPathFactory, text: str, end: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any-secret"
    file.write_bytes(f"{text}{end}".encode())
    assert read_secret(NAME, {FILE: str(file)}) == text


def test_a_file_that_changes_is_read_at_the_next_use(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("before\n")
    assert read_secret(NAME, {FILE: str(file)}) == "before"
    file.write_text("after\n")
    assert read_secret(NAME, {FILE: str(file)}) == "after"


def test_a_command_prints_the_secret_and_no_shell_reads_it() -> None:
    code = "import sys; sys.stderr.write('a warning'); print(sys.argv[1])"
    assert read_secret(NAME, {COMMAND: f"{printing(code)} '$HOME; echo more | cat'"}) == "$HOME; echo more | cat"


def test_a_secret_that_is_not_given_is_none_and_an_empty_variable_gives_nothing() -> None:
    assert read_secret(NAME, {}) is None
    assert read_secret(NAME, {NAME: "", FILE: "", COMMAND: ""}) is None
    assert not is_given(NAME, {NAME: "", FILE: ""})


@pytest.mark.parametrize("given_in", [(NAME, FILE), (NAME, COMMAND), (FILE, COMMAND), forms(NAME)])
def test_a_secret_has_one_source(given_in: tuple[str, ...]) -> None:
    with pytest.raises(NotConfiguredError, match=r"one source.*unset all of them but one") as refused:
        read_secret(NAME, dict.fromkeys(given_in, SECRET))
    assert all(form in str(refused.value) for form in given_in)
    assert SECRET not in str(refused.value)


def _none(folder: Path) -> Path:
    return folder / "nothing"


def _folder(folder: Path) -> Path:
    return folder


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _written(content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "secret").write_bytes(content)
        return folder / "secret"

    return write


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_none, "cannot be read: No such file or directory"),
        (_folder, "is no regular file"),
        (_pipe, "is no regular file"),
        (_written(b""), "is empty"),
        (_written(b"\n"), "is empty"),
        (_written(SECRET.encode() + b"\xff"), "is no text in UTF-8"),
        (_written(SECRET.encode() * 4000), "is longer than 64 KiB"),
    ],
)
def test_a_file_that_holds_no_secret_is_refused_by_its_variable(
    tmp_path: Path, make: Callable[[Path], Path], said: str
) -> None:
    with pytest.raises(NotConfiguredError, match=said) as refused:
        read_secret(NAME, {FILE: str(make(tmp_path))})
    assert FILE in str(refused.value)
    assert refused.value.fix
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"/nowhere/{SECRET}", "cannot be started: No such file or directory"),
        (f"echo '{SECRET}", "holds no command"),
        ("   ", "holds no command"),
        (f"{SECRET}\0", "cannot be started"),
        (
            printing(f"import sys; print('{SECRET}'); sys.stderr.write('{SECRET}'); sys.exit(3)"),
            "ended with exit code 3",
        ),
        (printing("pass"), "is empty"),
        (printing(f"import sys; sys.stdout.buffer.write(b'{SECRET}' + bytes([255]))"), "is no text in UTF-8"),
        (printing(f"while True: print('{SECRET}' * 1000)"), "is longer than 64 KiB"),
    ],
)
def test_a_command_that_prints_no_secret_is_refused_and_neither_it_nor_its_output_is_shown(
    command: str, said: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(NotConfiguredError, match=said) as refused:
        read_secret(NAME, {COMMAND: command})
    assert COMMAND in str(refused.value)
    assert refused.value.fix
    assert SECRET not in f"{refused.value!r} {refused.value} {caplog.text} {capfd.readouterr()}"
    assert refused.value.__cause__ is None, "a traceback would show the command"


def test_a_command_past_its_deadline_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    child = f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])"
    began = time.monotonic()
    with pytest.raises(NotConfiguredError, match="has not ended within 3 s"):
        read_secret(NAME, {COMMAND: printing(code)}, seconds=3)
    assert time.monotonic() - began < 60
    pid = int(started.read_text())
    assert wait_until(
        lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE,
        SystemClock(),
        deadline_seconds=20,
    )


@pytest.fixture
def given_by_command(monkeypatch: pytest.MonkeyPatch) -> str:
    """A connection whose URL a command prints; its password."""
    url = f"postgresql+psycopg://writer:{SECRET}@db/serving"
    monkeypatch.setenv("SLUICE_CONNECTION_SERVING_COMMAND", printing(f"print({url!r})"))
    return SECRET


def test_what_was_read_is_hidden_in_all_that_is_said_afterwards(given_by_command: str) -> None:
    redact = Redaction.of_environment({"HOME": "/home/me"})
    assert redact(f"refused: {given_by_command}") == f"refused: {given_by_command}", "it is not known yet"
    assert given_by_command in connection_url("serving")
    assert redact(f"refused: {given_by_command}") == "refused: ***"


def test_a_command_is_hidden_too_because_its_arguments_may_be_secret() -> None:
    redact = Redaction.of_environment({"SLUICE_CONNECTION_SERVING_COMMAND": f"fetch --pin {SECRET}"})
    assert SECRET not in redact(f"ran fetch --pin {SECRET} twice")


def test_only_the_newest_values_of_a_variable_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    for n in range(20):
        file.write_text(f"value {n}")
        read_secret(NAME, {FILE: str(file)})
    assert list(read_so_far()) == [(NAME, f"value {n}") for n in range(12, 20)]


def test_every_secret_is_read_in_all_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    for name in ("SLUICE_PASSWORD_FEED", "SLUICE_CONNECTION_CRM", "SLUICE_REGISTRY_LOGIN", "SLUICE_CONTROL_URL"):
        monkeypatch.setenv(f"{name}_FILE", str(file))
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ALERTS_COMMAND", printing(f"print({SECRET!r})"))
    assert is_set("SLUICE_PASSWORD_FEED")
    assert password("SLUICE_PASSWORD_FEED") == SECRET
    assert connection_url("crm") == SECRET
    assert registry_login() == SECRET
    assert control_url(Settings(home=tmp_path)) == SECRET
    assert SecretConnections().get_conn_value("sluice_alerts") == SECRET
    assert SecretConnections().get_conn_value("another") is None


def test_the_control_database_has_one_source_and_what_code_says_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert control_url(Settings(home=tmp_path)) == ""
    monkeypatch.setenv("SLUICE_CONTROL_URL_FILE", str(tmp_path / "nothing"))
    assert control_url(Settings(home=tmp_path, control_url="sqlite:///mine.db")) == "sqlite:///mine.db"
    monkeypatch.setenv("SLUICE_CONTROL_URL", "sqlite:///theirs.db")
    with pytest.raises(NotConfiguredError, match="one source"):
        control_url(Settings(home=tmp_path))


def test_a_connection_that_airflow_cannot_have_is_said_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_HOOK_COMMAND", printing(f"print('{SECRET}'); raise SystemExit(1)"))
    with pytest.raises(NotConfiguredError):
        SecretConnections().get_conn_value("hook")
    assert "AIRFLOW_CONN_HOOK_COMMAND ended with exit code 1" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("name", ["SLUICE_PASSWORD_STREAM", "SLUICE_CONNECTION_SERVING"])
def test_whoever_has_to_give_a_secret_is_told_all_forms(name: str) -> None:
    assert all(form in how_to_set([name]) for form in forms(name))
