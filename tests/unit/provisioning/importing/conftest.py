"""The scene of every test of the import."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.provisioning.importing.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)
