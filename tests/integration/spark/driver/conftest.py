"""What tests of single drivers share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.spark.conftest import DriverPlace


@pytest.fixture
def own(place: DriverPlace, drained_state: Path, monkeypatch: pytest.MonkeyPatch) -> DriverPlace:
    """A project to be broken, whose streams have read everything once, and a launcher's folder."""
    shutil.copytree(drained_state, place.state, dirs_exist_ok=True)
    folder = place.state / "drivers" / "local.flights.g2"
    folder.mkdir(parents=True)
    monkeypatch.setenv("SLUICE_DRIVER", str(folder))
    return place.with_own_project()
