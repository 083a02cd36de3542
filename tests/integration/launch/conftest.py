"""A folder of tiny drivers, and a launcher that leaves none of them running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.launch.launcher import LocalLauncher
from tests.integration.launch.drivers import (
    Drivers,
)


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    return Drivers(tmp_path)


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[LocalLauncher]:
    launcher = LocalLauncher(tmp_path / "drivers")
    yield launcher
    for report in launcher.living():
        launcher.kill(report.key)
