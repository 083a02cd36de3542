"""`sluice status` before anything was started: it says so, and asks nobody for anything."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.life.attempts import Desired


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    return tmp_path


def test_units_that_were_never_started_share_one_line(fresh: Path) -> None:
    assert fresh.is_dir()
    said = CliRunner().invoke(app, ["status"]).stdout
    assert "The stack was never started. `sluice up` starts it." in said
    assert "Never started: flights. `sluice streams start UNIT` starts one." in said
    assert "STOPPED" not in said
    told = json.loads(CliRunner().invoke(app, ["status", "-o", "json"]).stdout)
    assert told["streams"]["departures"]["verdict"] == "STOPPED"
    assert told["notes"] == []


def test_a_unit_that_should_run_has_a_row_with_what_to_do(fresh: Path) -> None:
    assert fresh.is_dir()
    Project.open_tolerant(settings()).records.registry().set_desired_state(
        "flights", Desired.RUNNING, by="ada", why="demo"
    )
    said = CliRunner().invoke(app, ["status"]).stdout
    assert "departures_live" in said
    assert "Never started" not in said


def test_a_full_disk_is_named(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = fresh / "state" / "kafka"
    kafka.mkdir(parents=True)
    monkeypatch.setattr(
        "sluice.devstack.stack_faults.shutil.disk_usage", lambda path: SimpleNamespace(free=path != kafka and 1 << 40)
    )
    (note,) = json.loads(CliRunner().invoke(app, ["status", "-o", "json"]).stdout)["notes"]
    assert note.startswith(f"The disk of {kafka} is full. Free some space")
