"""What `sluice new pipeline` writes passes its own test, in the engine of the streams."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.settings import inherited, settings

pytestmark = pytest.mark.verify

RECORDS = """\
{"order":1,"at":"2026-01-01T12:00:00Z","price":2.5,"paid":true}
{"order":2,"at":"2026-01-01T12:30:00Z","price":3,"paid":false}
"""


def test_a_new_topic_and_pipeline_pass_their_own_test(tmp_path: Path) -> None:
    for folder in ("include", "spark_jobs"):
        shutil.copytree(settings().home / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "records.jsonl").write_text(RECORDS)
    environment = {**inherited(), "SLUICE_HOME": str(tmp_path), "SLUICE_STATE": str(tmp_path / "state")}
    sluice = [sys.executable, "-c", "from sluice.cli.main import main; main()"]
    for command in (
        [*sluice, "new", "topic", "orders", "--sample", "records.jsonl"],
        [*sluice, "new", "pipeline", "orders_per_hour", "--source", "orders"],
        [*sluice, "new", "pipeline", "flown", "--source", "flights", "--sql"],
        [*sluice, "check"],
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/pipelines"],
    ):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
