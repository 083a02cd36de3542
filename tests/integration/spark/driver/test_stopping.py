"""A driver that is asked to stop before it has begun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from sluice.launch.processes import descendants
from sluice.settings import settings
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
