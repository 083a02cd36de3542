"""Fixtures of the specs room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.bench import Bench, sound_project


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sound_project(tmp_path / "project")
