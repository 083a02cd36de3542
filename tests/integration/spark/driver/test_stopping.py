"""A driver that is asked to stop: before it has begun, and while it is behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import DataFrame, SparkSession

from sluice.launch.processes import descendants
from sluice.settings import settings
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream
from sluice.streams.failures.exits import ExitCode
from tests.waiting import eventually


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_a_stop_that_comes_before_the_session_is_obeyed_and_is_no_kill(tmp_path: Path) -> None:
    home = settings().home
    driver = subprocess.Popen(
        [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", "flights", "--generation", "1"],
        env={**os.environ, "SLUICE_HOME": str(home), "SLUICE_STATE": str(tmp_path)},
        start_new_session=True,
    )
    try:
        eventually(lambda: catches(driver.pid, signal.SIGTERM))
        assert not descendants(driver.pid), "it listens only once its JVM runs"
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(60) == ExitCode.STOPPED
    finally:
        driver.kill()
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.verify
def test_a_query_that_is_behind_commits_its_batch_and_begins_no_other(spark: SparkSession, tmp_path: Path) -> None:
    rows, stop = spark.readStream.format("rate").option("rowsPerSecond", "5").load(), StopRequest()
    begun: list[int] = []
    ended: list[int] = []

    def slow(_rows: DataFrame, number: int) -> None:
        begun.append(number)
        Event().wait(1.5)  # the work: meanwhile the source has more, so the next batch follows at once
        ended.append(number)

    def ask() -> bool:
        if len(begun) == 3:
            stop.ask()
        return True

    stream = Stream("behind", rows, slow, tmp_path / "checkpoint", 0.0)
    assert Driver([stream], {}, stop=stop, update=ask).run() is ExitCode.STOPPED
    assert begun == ended == [0, 1, 2]
    newest = max(int(file.name) for file in (tmp_path / "checkpoint" / "commits").iterdir() if file.name.isdigit())
    assert newest == 2
