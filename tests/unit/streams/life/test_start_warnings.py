"""What a driver warned of at its start is said of it for as long as it lives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluice.streams.life.life import UnitLife
from sluice.streams.life.start_warnings import start_warnings
from tests.twins.drivers import DictionaryLauncher


def written(folder: Path, warnings: object, generation: int = 1) -> Path:
    file = folder / "flights.unit.json"
    file.write_text(json.dumps({"unit": "flights", "generation": generation, "warnings": warnings}))
    return file


def test_a_living_drivers_warnings_name_its_unit_and_generation(
    life: UnitLife, launcher: DictionaryLauncher, tmp_path: Path
) -> None:
    file = written(tmp_path, ["the topic was open."])
    assert start_warnings(life.observe(), file) == ()
    life.start("ada", "demo")
    assert start_warnings(life.observe(), file) == ("flights: when generation 1 started, the topic was open.",)
    launcher.die("local.flights.g1", -9)
    assert start_warnings(life.observe(), file) == ()


@pytest.mark.parametrize("warnings", [None, {}, "text", 7])
def test_a_file_of_another_version_or_generation_says_nothing(life: UnitLife, tmp_path: Path, warnings: object) -> None:
    life.start("ada", "demo")
    assert start_warnings(life.observe(), written(tmp_path, warnings)) == ()
    assert start_warnings(life.observe(), written(tmp_path, ["of the next one."], generation=2)) == ()
    assert start_warnings(life.observe(), tmp_path / "nowhere") == ()
