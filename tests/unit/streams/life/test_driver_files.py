from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.streams.life.driver_files import Executors, executors_of

SAID = {"unit": "flights", "generation": 3, "executors": 2, "cores": 2, "since": "2013-01-07T12:00:00+00:00"}


def said(folder: Path, **more: object) -> Path:
    file = folder / "flights.unit.json"
    file.write_text(json.dumps({**SAID, **more}))
    return file


def test_what_the_driver_says_of_its_executors_is_read(tmp_path: Path) -> None:
    found = executors_of(said(tmp_path), "flights", 3)
    assert found == Executors(2, 2, datetime(2013, 1, 7, 12, tzinfo=UTC))


@pytest.mark.parametrize("generation", [2, 4, None])
def test_what_another_generation_said_counts_for_nothing(tmp_path: Path, generation: int | None) -> None:
    assert executors_of(said(tmp_path), "flights", generation) is None


def test_a_driver_that_needs_no_executor_says_so(tmp_path: Path) -> None:
    assert executors_of(said(tmp_path, executors=None, cores=None), "flights", 3) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"unit": "flights", "generation": 3, "executors": "x"}'])
def test_a_file_that_cannot_be_read_proves_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "flights.unit.json"
    file.write_text(text)
    assert executors_of(file, "flights", 3) is None
    assert executors_of(tmp_path / "none", "flights", 3) is None
