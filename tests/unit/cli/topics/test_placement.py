"""`sluice topics place`: JSON for programs, a table for people, and what exit code when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from sluice.cli.topics.placement import place
from sluice.errors import RefusedError, SpecError

PLACES = [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1"), ("2", "2")]
UNEVEN = {"topics": {"t": {"0": [1, 2, 3], "1": [1, 4, 5]}, "u": {"0": [1, 5, 4]}}}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tmp_path / "topology.json", topology(PLACES))
    write(tmp_path / "assignment.json", UNEVEN)
    return tmp_path


def topology(places: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "brokers": [
            {"id": number, "domains": {"fault": fault, "update": update}}
            for number, (fault, update) in enumerate(places, start=1)
        ]
    }


def write(file: Path, data: object) -> None:
    file.write_text(json.dumps(data), encoding="utf-8")


def run(folder: Path, *arguments: str, text: str | None = None) -> Result:
    app = typer.Typer()
    app.command()(place)
    named = ["--topology", str(folder / "topology.json"), "--assignment", str(folder / "assignment.json")]
    return CliRunner().invoke(app, [*named, *arguments], input=text)


def test_programs_get_the_plan_and_its_proof(files: Path) -> None:
    result = run(files, "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    placed = found.pop("assignment")
    assert found == {"violations": [], "infeasible": [], "moves": 1, "leader_skew": 1, "replica_skew": 2}
    assert placed["topics"].keys() == {"t", "u"}
    assert set(placed["topics"]["u"]["0"]) == {1, 4, 5}


def test_a_result_is_an_assignment_that_needs_nothing(files: Path) -> None:
    placed = json.loads(run(files, "-o", "json").stdout)["assignment"]
    write(files / "assignment.json", placed)
    again = json.loads(run(files, "-o", "json").stdout)
    assert (again["moves"], again["assignment"]) == (0, placed)


def test_people_see_what_moves_and_how_even_it_was(files: Path) -> None:
    result = run(files)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert any(line.startswith("t/0 1,2,3 ") and line.endswith(" 1") for line in lines)
    assert {"violations 2 0", "leader skew 3 1"} <= set(lines)
    assert any(line.startswith("Replicas that move: 1, in 1 of 3 partitions; new leaders: ") for line in lines)


def test_one_file_may_be_standard_input(files: Path) -> None:
    result = run(files, "--assignment", "-", "-o", "json", text=json.dumps(UNEVEN))
    assert json.loads(result.stdout)["moves"] == 1
    both = run(files, "--assignment", "-", "--topology", "-")
    assert isinstance(both.exception, SpecError)


def test_an_impossible_placement_is_shown_and_refused(files: Path) -> None:
    write(files / "topology.json", topology([("0", "0"), ("0", "1"), ("0", "2"), ("1", "0"), ("2", "0")]))
    result = run(files, "-o", "json")
    found = json.loads(result.stdout)
    assert found["assignment"] == UNEVEN
    assert [(entry["topic"], entry["partition"]) for entry in found["infeasible"]] == [("t", 0), ("t", 1), ("u", 0)]
    assert "3 values of fault and 3 values of update" in found["infeasible"][0]["reason"]
    assert isinstance(result.exception, RefusedError)
    assert "3 partitions (the first: t/0) have no valid placement and stay as they are" in str(result.exception)


def test_a_file_that_is_wrong_or_not_there_is_refused(files: Path) -> None:
    write(files / "topology.json", {"brokers": []})
    wrong = run(files, "-o", "json")
    assert isinstance(wrong.exception, SpecError)
    assert wrong.stdout == ""
    (files / "assignment.json").unlink()
    missing = run(files)
    assert isinstance(missing.exception, SpecError)
    assert "cannot be read: No such file" in str(missing.exception)
