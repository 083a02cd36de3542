"""`sluice backfill` and `sluice intervals` over what a real stream wrote, with the real batch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.spark.backfill.backfills import RANGE

SLUICE = [sys.executable, "-c", "from sluice.cli.main import main; main()"]


@pytest.fixture
def state(drained_state: Path, tmp_path: Path) -> Path:
    """A private copy of the drained state."""
    return Path(shutil.copytree(drained_state, tmp_path / "state"))


def sluice(state: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON is any
    environment = {**os.environ, "SLUICE_STATE": str(state)}
    ended = subprocess.run(
        [*SLUICE, *arguments, "-o", "json"], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_correction_from_the_command_line_is_in_the_ledger_and_a_rebuild_of_the_index_shows_the_same(
    state: Path,
) -> None:
    before = sluice(state, "intervals", "list", "departures")["departures"]
    assert {interval["state"] for interval in before["intervals"]} == {"closed"}
    bounds = ("--from", f"{RANGE.start:%FT%RZ}", "--to", f"{RANGE.end:%FT%RZ}")
    ended = sluice(state, "backfill", "run", "departures", *bounds, "--mode", "correct")
    assert (ended["state"], ended["outcome"], ended["result"]["unexplained"]) == ("done", "explained", 0)
    assert ended["result"]["published"] > 0
    assert [Path(page).name for page in ended["pages"]] == ["parity.html", "quality.html", "batch.log"]
    after = sluice(state, "intervals", "list", "departures")["departures"]
    corrected = [interval for interval in after["intervals"] if interval["current"]["owner"] == ended["id"]]
    assert len(corrected) == after["counts"]["published"] == ended["result"]["published"]
    assert all(interval["current"]["late"] and interval["base"]["owner"] != ended["id"] for interval in corrected)
    assert all(interval["verified"] for interval in after["intervals"])
    (cost,) = sluice(state, "capacity", "cost", "departures")
    assert cost["cpu_seconds"]["backfill"] > 1
    assert cost["cpu_seconds"]["driver"] > 1, "the stream that drained has logged its batches"
    sluice(state, "control", "rebuild")
    assert sluice(state, "intervals", "list", "departures")["departures"] == after
