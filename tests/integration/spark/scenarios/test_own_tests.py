"""The tests that examples bring along pass in a project that has copied them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluice import __version__
from sluice.cli.scaffold.examples import example_files, example_names, examples_folder
from sluice.cli.scaffold.project import project_files, write_project

pytestmark = pytest.mark.verify


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", example_names(examples_folder()))
def test_a_copied_example_passes_its_tests(name: str, tmp_path: Path) -> None:
    home = tmp_path / "project"
    write_project(home, {**project_files("shop", __version__), **example_files(name, examples_folder())})
    places = {"SLUICE_HOME": str(home), "SLUICE_STATE": str(tmp_path / "state")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/pipelines"],
        cwd=home,
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]
    assert " passed" in run.stdout
