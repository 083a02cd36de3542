"""Which units get a DAG, and which of them are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.specs.load import scan
from sluice.specs.units import declared_units
from tests.editing import copy_project, edit

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """A copy of the shipped project that a test may break."""
    copy_project(tmp_path)
    return tmp_path / "include"


def test_a_sound_unit_names_its_streams_and_owners(include: Path) -> None:
    unit = declared_units(scan(include), include)["flights"]

    assert unit.unit.streams == ("raw_flights", "departures", "departures_live")
    assert unit.owners == ("flight-operations",)
    assert unit.faults == ()


@pytest.mark.parametrize(
    ("file", "text", "broken_text"),
    [
        pytest.param("pipelines/departures.yaml", "source: flights", "source: fligths", id="unknown-topic"),
        pytest.param("pipelines/departures.yaml", "static:", "static: [", id="no-yaml"),
        pytest.param("topics/flights.yaml", "partitions: 4", "partitions: many", id="wrong-type"),
    ],
)
def test_one_broken_spec_breaks_its_whole_unit(include: Path, file: str, text: str, broken_text: str) -> None:
    edit(include / file, text, broken_text)

    unit = declared_units(scan(include), include)["flights"]

    assert unit.faults
    assert any(file in fault for fault in unit.faults)


def test_a_broken_spec_leaves_other_units_sound(include: Path) -> None:
    path = include / "pipelines" / "departures.yaml"
    other = path.read_text().replace("departures", "arrivals", 1).replace("table: departures", "table: arrivals")
    (include / "pipelines" / "arrivals.yaml").write_text(other.replace("driver: flights", "driver: arrivals"))
    edit(path, "source: flights", "source: fligths")

    units = declared_units(scan(include), include)

    assert units["arrivals"].faults == ()
    assert units["flights"].faults


def test_a_broken_topic_breaks_the_unit_of_its_raw_stream(include: Path) -> None:
    (include / "pipelines" / "departures.yaml").unlink()
    edit(include / "topics" / "flights.yaml", "partitions: 4", "partitions: many")

    unit = declared_units(scan(include), include)["flights"]

    assert unit.faults
    assert unit.unit.streams == ()


def test_a_spec_that_names_no_driver_breaks_no_unit(include: Path) -> None:
    (include / "pipelines" / "empty.yaml").write_text("")

    units = declared_units(scan(include), include)

    assert list(units) == ["flights"]
    assert units["flights"].faults == ()
