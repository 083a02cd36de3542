"""Which batches of a running stream a benchmark counts: those with input that began while it watched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.live_stream import LiveStream


class Progress:
    """A driver's progress file; `batch` writes it as the driver does after a batch."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def batch(self, number: int, *, seconds: float, rows: int = 10, ago: float = 0.0) -> None:
        began = datetime.now(UTC) - timedelta(seconds=ago)
        batch = {"batch_id": number, "rows": rows, "at": began.isoformat()}
        self.path.write_text(json.dumps({**batch, "duration_ms": {"triggerExecution": 1000 * seconds}}))


@pytest.fixture
def progress(tmp_path: Path) -> Progress:
    return Progress(tmp_path / "departures.json")


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate(b"\n")


def test_batches_that_began_before_and_those_without_input_are_not_counted(
    progress: Progress, driver: subprocess.Popen[bytes]
) -> None:
    progress.batch(1, seconds=9, ago=60)
    steps = iter(
        [
            lambda: None,
            lambda: progress.batch(2, seconds=2),
            lambda: progress.batch(3, seconds=9, rows=0),
            lambda: progress.batch(4, seconds=3),
            lambda: None,  # the same batch is seen twice
        ]
    )

    def until(_: object) -> bool:
        step = next(steps, None)
        if step is not None:
            step()
        return step is None

    assert LiveStream(driver, progress.path).watch(until) == [2, 3]


def test_a_stream_without_progress_has_no_batches(progress: Progress, driver: subprocess.Popen[bytes]) -> None:
    answers = iter([False, True])
    assert LiveStream(driver, progress.path).watch(lambda _: next(answers)) == []


def test_a_driver_that_ended_is_no_slow_stream(progress: Progress) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    ended.wait()
    with pytest.raises(RuntimeError, match="exit code 3"):
        LiveStream(ended, progress.path).watch(lambda _: False)
