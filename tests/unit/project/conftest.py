"""A sound project of which settings are taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.bench import Bench, sound_project


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    own = sound_project(tmp_path / "project")
    monkeypatch.setenv("SLUICE_HOME", str(own.home))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "prod")
    return own
