"""The oracles of interval tables, over a project whose table is settled instead of appended."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.settings import settings

pytestmark = pytest.mark.verify

_PARITY = "tests/integration/spark/backfill/test_lambda_parity.py"
_RACE = "tests/integration/spark/backfill/test_publish_race.py"
_SABOTAGE = "tests/integration/spark/driver/test_sabotage.py"
_OF_THE_APPEND_ENGINE = (
    f"{_RACE}::test_a_stream_that_appends_to_a_published_interval_makes_it_dirty",
    f"{_SABOTAGE}::test_a_wrong_commit_of_the_stream_is_found_though_the_ledger_says_the_same",
)


@pytest.mark.timeout(1_800)
def test_a_settled_table_passes_what_an_appended_one_does(tmp_path: Path) -> None:
    home = settled_project(tmp_path / "project")
    excepted = [option for test in _OF_THE_APPEND_ENGINE for option in ("--deselect", test)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--no-skips",
            "-p",
            "no:cacheprovider",
            *excepted,
            _PARITY,
            _RACE,
            _SABOTAGE,
        ],
        cwd=settings().home,
        env={**os.environ, "SLUICE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout
    assert "engine: settle" in (home / "include" / "pipelines" / "departures.yaml").read_text()


def settled_project(folder: Path) -> Path:
    """Copy the project; its table is settled there, and its feed keeps records in flight for 15 minutes."""
    for part in ("include", "spark_jobs", "dags", "plugins"):
        shutil.copytree(settings().home / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "include" / "pipelines" / "departures.yaml"
    text = spec.read_text()
    for old, new in (
        ("  - kind: intervals", "  - engine: settle\n    kind: intervals"),
        ("  allowed_lateness: 3 hours\n", "  allowed_lateness: 3 hours\n  arrival_disorder: 15 minutes\n"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    spec.write_text(text)
    return folder
