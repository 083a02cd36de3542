"""A backfill killed at every point and started again under its key: as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.delta.log import read_log
from sluice.failpoints import marker
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import BackfillEntry
from sluice.project.project import Project
from sluice.settings import Settings, settings
from tests.integration.spark.backfill.backfills import FIRST, LAST, RANGE, Drained
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import KEYS, departures, differences

AS_ASKED = ("--mode", "correct", "--by", "tests", "--why", "late flights", "--key", "crashes")


def batch(state: Path, *arguments: str, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    """Run the batch main as a process that leads its group, as under a launcher."""
    main = settings().home / "spark_jobs" / "batch.py"
    dates = ("--from", RANGE.start.isoformat(), "--to", RANGE.end.isoformat())
    return subprocess.run(
        [sys.executable, str(main), *arguments, "--pipeline", "departures", *dates],
        env={**os.environ, "SLUICE_STATE": str(state), "SLUICE_FAILPOINT": failpoint},
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )


@pytest.mark.verify
@pytest.mark.timeout(1800)
@pytest.mark.proves("backfill-killed")
def test_kills_at_every_point_leave_nothing_half_published_and_nothing_twice(
    drained: Drained, faults: FaultRecorder
) -> None:
    check_kills(drained, ["after_stage:2", "after_gate", "mid_publish", "after_publish_before_index"], faults)


def check_kills(drained: Drained, failpoints: list[str], faults: FaultRecorder) -> None:
    """Kill a backfill at each point in turn, then let it finish: one publication, as if nothing had happened."""
    before = drained.rows()
    for failpoint in failpoints:
        killed = batch(drained.state, "backfill", *AS_ASKED, failpoint=failpoint)
        assert killed.returncode == -9, killed.stderr[-2000:]
        assert marker(Settings(state=drained.state, failpoint=failpoint)).exists()
        faults.struck(f"exit code -9 at {failpoint}, with its marker")
        if failpoint != "after_publish_before_index":
            assert drained.rows().equals(before)
            assert publications(drained.table) == []
    assert orphans(drained.table) > 0  # what was killed in the middle had written files; no commit names them
    version = drained.versions()
    # In the session of this process: how a batch starts is no part of what is tested here.
    finished = drained.run(Mode.CORRECT, why="late flights", key="crashes")
    assert finished.passed, finished.why
    faults.recovered()
    faults.counted(rows_of_intervals(drained), what="rows of published intervals")
    assert drained.versions() == version + ("after_publish_before_index" not in failpoints)
    assert differences(drained.rows(), departures(FIRST, LAST, with_late=True)) == []
    (published,) = publications(drained.table)
    (record,) = Project.open_strict(Settings(state=drained.state)).records.backfills().recent("departures")
    assert (record.state, record.id) == (BackfillState.DONE, published.backfill)
    result = json.loads((drained.project.folder.backfill(record.id) / "result.json").read_text())
    assert (result["outcome"], result["published"]) == ("explained", len(published.content))
    assert result["gate"]["passed"]


def rows_of_intervals(drained: Drained) -> Census:
    """Compare the rows of the interval table with those of the oracle, by their keys."""
    wanted, there = departures(FIRST, LAST, with_late=True), drained.rows()
    return Census.of(*(frame[KEYS].itertuples(index=False, name=None) for frame in (wanted, there)))


def publications(table: Path) -> list[BackfillEntry]:
    return [logged.entry for logged in read_log(table) if isinstance(logged.entry, BackfillEntry)]


def orphans(table: Path) -> int:
    """Return how many data files no commit has ever named."""
    logged = "".join(path.read_text() for path in (table / "_delta_log").glob("*.json"))
    return sum(path.name not in logged for path in table.rglob("*.parquet") if "_delta_log" not in path.parts)
