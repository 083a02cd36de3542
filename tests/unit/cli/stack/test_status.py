"""`sluice status` before anything was started: it says so, and asks nobody for anything."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.clock import SystemClock
from sluice.errors import UnreachableError
from sluice.objectives.log import Minute
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.objectives import declared_objectives
from sluice.specs.load import load_catalog
from sluice.specs.model.deadlines import Objective
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


def test_outputs_with_an_objective_have_a_row_with_what_is_left_of_their_error_budget(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fresh.is_dir()
    assert json.loads(CliRunner().invoke(app, ["status", "-o", "json"]).stdout)["objectives"] == {}
    departures = load_catalog(settings().home / "include").pipelines["departures"]
    promised = departures.model_copy(update={"objective": Objective(share=Decimal(99))})
    monkeypatch.setattr(
        "sluice.cli.views.objective_view.declared_objectives",
        lambda catalog: declared_objectives(replace(catalog, pipelines={"departures": promised})),
    )
    log, now = Project.open_tolerant(settings()).records.objectives(), SystemClock().now()
    for minute, seen in ((3, Minute.STALE), (2, Minute.STALE), (1, Minute.GOOD), (0, Minute.GOOD)):
        log.observe({"departures/departures": seen}, now - timedelta(minutes=minute))
    said = CliRunner().invoke(app, ["status"]).stdout
    assert "budget left" in said
    assert "departures/departures_live" in "".join(re.findall(r"│ ([a-z_/]+)", said))
    told = json.loads(CliRunner().invoke(app, ["status", "-o", "json"]).stdout)["objectives"]
    found = told["departures/departures"]
    assert (found["bad_seconds"], found["good_seconds"]) == (120, 60)
    assert found["remaining_seconds"] == 0.01 * 30 * 86_400 - 120
    assert told["departures/departures_live"]["ratio"] is None


def test_a_control_database_that_does_not_answer_leaves_objectives_unknown(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fresh.is_dir()

    def refuse(*_arguments: object) -> None:
        raise UnreachableError("the control database could not be queried.", fix="wait.")

    monkeypatch.setattr("sluice.cli.views.objective_view.declared_objectives", lambda _catalog: [object()])
    monkeypatch.setattr("sluice.cli.views.objective_view.output_objectives", refuse)
    told = json.loads(CliRunner().invoke(app, ["status", "-o", "json"]).stdout)
    assert told["objectives"] is None
