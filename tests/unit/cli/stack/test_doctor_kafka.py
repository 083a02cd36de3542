"""`sluice doctor --kafka`: what is printed, for people and for programs, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from sluice.cli.stack.doctor import doctor
from sluice.errors import SpecError
from tests.unit.kafka.wire import Wire, serving, wired
from tests.unit.specs.bench import DEPLOYMENT_FILE, Bench, sound_project


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "elsewhere")
    return sound_project(tmp_path)


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, list(arguments))


def examine(bench: Bench, port: int, *arguments: str) -> Result:
    bench.edit(DEPLOYMENT_FILE, "[kafka:9092]", f'["127.0.0.1:{port}"]')
    return run("--kafka", "--deployment", "prod", *arguments)


def test_a_kafka_that_is_reached_everywhere_is_well(bench: Bench) -> None:
    with wired(Wire()) as port:
        result = examine(bench, port, "-o", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["ok"], found["deployment"]) == (0, True, "prod")
    assert [finding["where"] for finding in found["findings"]] == [
        f"127.0.0.1:{port}",
        f"broker 1 (127.0.0.1:{port})",
        "clock",
    ]


def test_every_fault_is_printed_with_its_fix(bench: Bench) -> None:
    with wired(Wire(brokers={7: ("no-such-host.invalid", 9092)})) as port:
        result = examine(bench, port)
    assert result.exit_code == 3
    assert "broker 7 (no-such-host.invalid:9092): the name does not resolve" in result.stderr
    assert "Fix: set advertised.listeners of broker 7" in result.stderr


def test_what_a_server_says_is_not_taken_for_a_style(bench: Bench) -> None:
    with serving(
        lambda connection: (connection.recv(4), connection.sendall(b"[bold]220 [/nonsense] mail\r\n"))
    ) as port:
        result = examine(bench, port)
    assert result.exit_code == 3
    assert "[bold]220 [/nonsense] mail" in result.stderr


def test_a_deployment_that_is_not_there_is_named(bench: Bench) -> None:
    assert bench
    result = run("--kafka", "--deployment", "prdo")
    assert isinstance(result.exception, SpecError)
    assert "'prdo'" in str(result.exception)


def test_a_deployment_without_kafka_is_refused(bench: Bench) -> None:
    assert bench
    assert isinstance(run("--deployment", "prod").exception, SpecError)
