"""A batch process as it is followed from its submission on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.cli.views.backfill_run import ProgressLine
from sluice.clock import SystemClock
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.launch.backfill_lock import BackfillLock
from sluice.launch.batch_process import BatchProcess
from sluice.streams.life.launcher import Job
from tests.suites.backfills_suite import asking
from tests.twins.backfills import InMemoryBackfills

WAITS = Job((sys.executable, "-c", "import signal; signal.pause()"))


@pytest.fixture
def process(tmp_path: Path) -> BatchProcess:
    return BatchProcess(WAITS, tmp_path)


def line_of(process: BatchProcess, backfills: InMemoryBackfills, folder: Path) -> ProgressLine:
    def lock(name: str) -> BackfillLock:
        return BackfillLock(folder / name)

    return ProgressLine(process, backfills, lock, SystemClock())


def followed(
    process: BatchProcess, folder: Path, after: Callable[[InMemoryBackfills, Backfill], object]
) -> tuple[int, Backfill]:
    """Follow a process that never claims anything; do something at the second check."""
    backfills, reads = InMemoryBackfills(SystemClock()), []
    submitted = backfills.submit(asking(), "run-1", alive=lambda _: False)

    def read() -> Backfill | None:
        reads.append(1)
        if len(reads) == 2:
            after(backfills, submitted)
        return backfills.find("run-1")

    with line_of(process, backfills, folder) as line:
        code = process.follow(read, line, SystemClock())
    return code, backfills.get(submitted.id)


def test_what_is_submitted_is_told_with_its_id_and_a_cancel_ends_its_process(
    process: BatchProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = followed(process, tmp_path, lambda backfills, it: backfills.ask_cancel(it.id, "bob"))
    assert (code, found.state) == (-signal.SIGTERM, BackfillState.CANCELLED)
    said = capsys.readouterr().err
    assert f"{found.id}: submitted 0 s ago, its process starts Spark" in said


def test_ctrl_c_before_it_began_withdraws_it(process: BatchProcess, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    code, found = followed(process, tmp_path, interrupt)
    assert (code, found.state) == (-signal.SIGTERM, BackfillState.CANCELLED)
    assert found.why.endswith("before it began")
