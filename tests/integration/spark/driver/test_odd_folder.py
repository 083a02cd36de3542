"""Project and state folder with odd names, in a locale without letters: the driver finds all, and nothing is beside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sluice.launch.endpoints import Endpoints, read_endpoints, write_endpoints
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace
from tests.integration.spark.driver.test_exactly_once import assert_exact
from tests.unit.specs.deployments.test_folder_names import ODD


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_driver_runs_in_folders_with_odd_names(
    place: DriverPlace, two_days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoints: Endpoints = read_endpoints(Settings(state=place.state).folder)
    of_code, of_data = tmp_path / "project" / ODD, tmp_path / "data" / ODD
    odd = DriverPlace(of_code / "state").with_own_project()
    odd = replace(odd, state=of_data)
    write_endpoints(Settings(state=of_data).folder, endpoints)
    (of_code / "jars-of-it").symlink_to(Settings().jars)
    monkeypatch.setenv("SLUICE_JARS", str(of_code / "jars-of-it"))
    monkeypatch.setenv("PYTHONPATH", str(odd.home / "include"))
    monkeypatch.setenv("LC_ALL", "C")
    for name in ("LANG", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)

    finished = odd.run()

    assert finished.returncode == ExitCode.STOPPED, (finished.stdout[-2000:], finished.stderr[-3000:])
    assert_exact(odd, two_days)
    assert {path.name for path in of_data.parent.iterdir()} == {ODD}
    assert {path.name for path in of_code.parent.iterdir()} == {of_code.name}
    assert {path.name for path in of_data.iterdir()} <= {"stack.json", "tables", "checkpoints", "progress", "code"}
