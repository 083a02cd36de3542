"""An edit changes nothing that runs already, and whoever looks is told so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluice.errors import SpecError
from sluice.streams.life.driver_files import codes_of
from sluice.streams.life.life import UnitLife
from sluice.streams.life.running_code import outdated
from tests.twins.drivers import DictionaryLauncher


def told(folder: Path, codes: object, generation: int = 1) -> Path:
    file = folder / "flights.unit.json"
    file.write_text(json.dumps({"unit": "flights", "generation": generation, "codes": codes}))
    return file


def test_a_driver_that_runs_what_the_files_hold_is_nothing_to_tell_of(life: UnitLife, tmp_path: Path) -> None:
    life.start("ada", "demo")
    assert outdated(life.observe(), told(tmp_path, {"departures": "a1"}), {"departures": "a1"}.__getitem__) == ""


def test_one_that_runs_older_code_is_named_with_the_command_that_takes_the_new_one(
    life: UnitLife, tmp_path: Path
) -> None:
    life.start("ada", "demo")
    running = told(tmp_path, {"departures": "a1", "routes": "b1", "gone": "c1"})
    said = outdated(life.observe(), running, {"departures": "a2", "routes": "b1"}.__getitem__)
    assert said.startswith("flights: the code, spec or static input of departures has changed since generation 1")
    assert "`sluice streams restart flights`" in said


def test_a_driver_that_is_dead_runs_nothing(life: UnitLife, launcher: DictionaryLauncher, tmp_path: Path) -> None:
    file = told(tmp_path, {"departures": "a1"})
    assert outdated(life.observe(), file, {}.__getitem__) == ""
    life.start("ada", "demo")
    launcher.die("local.flights.g1", -9)
    assert outdated(life.observe(), file, {"departures": "a2"}.__getitem__) == ""


def test_code_that_does_not_stand_says_nothing_here(life: UnitLife, tmp_path: Path) -> None:
    def broken(_: str) -> str:
        raise SpecError("broken.")

    life.start("ada", "demo")
    assert outdated(life.observe(), told(tmp_path, {"departures": "a1"}), broken) == ""


@pytest.mark.parametrize("codes", [None, [], "a1", 7])
def test_a_file_of_another_make_or_generation_proves_nothing(tmp_path: Path, codes: object) -> None:
    assert codes_of(told(tmp_path, codes), "flights", 1) == {}
    assert codes_of(told(tmp_path, {"departures": "a1"}), "flights", 2) == {}
    assert codes_of(tmp_path / "nowhere", "flights", 1) == {}
    assert codes_of(told(tmp_path, {"departures": "a1"}), "flights", 1) == {"departures": "a1"}
