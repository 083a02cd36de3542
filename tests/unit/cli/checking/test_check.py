"""`sluice check`: faults as file:line for people, JSON for programs, and an exit code for both."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from sluice.cli.checking.check import check
from sluice.settings import settings
from tests.certificates import make_authority
from tests.unit.specs.bench import DEPLOYMENT_FILE, FEED_FILE, PIPELINE_FILE, TOPIC, TOPIC_FILE, Bench, sound_project

RUNNER = CliRunner()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "prod")
    return sound_project(tmp_path)


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(check)
    return RUNNER.invoke(app, list(arguments))


@pytest.mark.usefixtures("bench")
def test_sound_specs_are_counted() -> None:
    result = run()
    assert result.exit_code == 0
    counted = "1 topic, 1 pipeline, 1 feed, 1 deployment, 0 suites, 0 principals, 0 policies, 0 mirrors"
    assert result.stderr.splitlines()[-1] == f"All specs are sound: {counted}."
    assert result.stdout == ""


def test_every_fault_is_one_line_with_file_and_line(bench: Bench) -> None:
    bench.edit(TOPIC_FILE, "partitions: 2", "partitions: 0")
    bench.edit(FEED_FILE, "topic: orders", "topic: '[bold] is no topic, and too long for one line'")
    result = run()
    assert result.exit_code == 2
    first, second, last = result.stderr.splitlines()
    assert first.startswith(f"{FEED_FILE}:2: topic: ")
    assert second == f"{TOPIC_FILE}:2: partitions: found 0; it must be at least 1."
    assert last == "2 faults in 1 topic, 1 feed. Not checked because of them: 1 pipeline. Sound: 1 deployment."


def test_one_mistake_is_one_fault_whatever_depends_on_it(bench: Bench) -> None:
    bench.write("include/access/shop.yaml", "name: shop\nuser: shop\nrole: stream\nhosts: [127.0.0.1]\n")
    bench.edit(TOPIC_FILE, "partitions: 2", "partitons: 2")
    result = run()
    assert result.stderr.splitlines() == [
        f"{TOPIC_FILE}:2: partitons: no such key is known here. Fix: did you mean 'partitions'?",
        "1 fault in 1 topic. Not checked because of it: 1 pipeline, 1 feed, 1 principal. Sound: 1 deployment.",
    ]


def test_programs_get_json_on_stdout(bench: Bench) -> None:
    bench.edit(TOPIC_FILE, "partitions: 2", "partitions: 0")
    result = run("-o", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout) == {
        "ok": False,
        "sound": {
            **dict.fromkeys(("topic", "pipeline", "feed", "suite", "principal", "policy", "mirror"), 0),
            "deployment": 1,
        },
        "unchecked": ["feed replay", "pipeline sales"],
        "unguarded": [],
        "shared": [],
        "unset": {},
        "tls": [],
        "faults": [
            {
                "file": TOPIC_FILE,
                "line": 2,
                "where": "partitions",
                "message": "found 0; it must be at least 1.",
                "fix": "",
                "column": 0,
            }
        ],
    }


@pytest.mark.usefixtures("bench")
def test_a_pipeline_without_a_suite_is_a_warning_and_no_fault() -> None:
    result = run()
    assert result.exit_code == 0
    assert "The pipeline sales has no suite in include/expectations" in result.stderr
    assert json.loads(run("-o", "json").stdout)["unguarded"] == ["sales"]


@pytest.mark.usefixtures("bench")
def test_json_of_sound_specs_is_ok() -> None:
    result = run("--output", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["ok"] is True


@pytest.mark.usefixtures("bench")
def test_a_deployment_without_spec_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "elsewhere")
    settings.cache_clear()
    result = run()
    assert result.exit_code == 2
    assert "include/deployments:1: SLUICE_DEPLOYMENT is 'elsewhere'" in result.stderr


def test_unset_variables_of_specs_are_a_warning_and_no_fault(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_REGION", raising=False)
    file = bench.home / PIPELINE_FILE
    file.write_text(f"{file.read_text()}\nresources: {{environment: [SHOP_REGION]}}\n")
    result = run()
    assert result.exit_code == 0, result.stderr
    assert "cannot be started here: SHOP_REGION not set." in result.stderr
    assert "Fix: set SHOP_REGION, where the command runs" in result.stderr
    assert list(json.loads(run("-o", "json").stdout)["unset"].values()) == [["SHOP_REGION"]]
    monkeypatch.setenv("SHOP_REGION", "north")
    assert "SHOP_REGION" not in run().stderr


def test_files_of_tls_that_cannot_be_used_here_are_a_warning_and_no_fault(bench: Bench, tmp_path: Path) -> None:
    authority = make_authority(tmp_path, begin=datetime(2020, 1, 1, tzinfo=UTC))
    bench.edit(DEPLOYMENT_FILE, "    client.id: shop", f"    client.id: shop\n  tls: {{ca: {authority.ca}}}")
    result = run()
    assert result.exit_code == 0, result.stderr
    assert f"Kafka cannot be reached from here: {authority.ca} expired at 2020-01-03 00:00 UTC." in result.stderr
    assert "Fix: replace it by a new one" in result.stderr
    (fault,) = json.loads(run("-o", "json").stdout)["tls"]
    assert fault["file"] == str(authority.ca)
    authority.ca.write_bytes(make_authority(tmp_path, "other").ca.read_bytes())
    assert "cannot be reached" not in run().stderr


def test_a_pipeline_that_shares_a_driver_with_a_raw_stream_is_named_and_is_no_fault(bench: Bench) -> None:
    raw = next(line for line in TOPIC.splitlines() if "driver:" in line)
    driver = raw.partition("driver:")[2].split("}")[0].strip()
    file = bench.home / PIPELINE_FILE
    before = next(line for line in file.read_text().splitlines() if line.startswith("driver:"))
    bench.edit(PIPELINE_FILE, before, f"driver: {driver}")
    result = run()
    assert result.exit_code == 0, result.stderr
    assert f"The pipeline sales shares the driver {driver} with the raw stream of orders: a failure" in result.stderr
    assert json.loads(run("-o", "json").stdout)["shared"] == [
        {"pipeline": "sales", "driver": driver, "topic": "orders"}
    ]
    bench.edit(PIPELINE_FILE, f"driver: {driver}", "driver: of_its_own")
    assert "shares the driver" not in run().stderr
