"""A keeper that dies at a point, and a caller that dies before or after it started the keeper."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sluice.launch.keeper as keeper_module
from sluice.clock import SystemClock
from sluice.errors import NotReadyError
from sluice.launch.launcher import LocalLauncher
from sluice.launch.processes import wait_until
from sluice.streams.life.launcher import DriverState
from tests.integration.launch.drivers import (
    OBEDIENT,
    Drivers,
    alive,
)
from tests.integration.launch.keepers import KEY, state

# Crashes: a keeper that dies at a point, and a caller that dies before or after it started the keeper.


SIGKILL_TO_ITSELF = "os.kill(os.getpid(), signal.SIGKILL)"


def dying_keeper(tmp_path: Path, point: str, then: str = SIGKILL_TO_ITSELF) -> Path:
    """Return a keeper that runs a line of Python at a point."""
    script = tmp_path / "dying_keeper.py"
    script.write_text(f"""
import importlib.util, os, signal, subprocess, sys
spec = importlib.util.spec_from_file_location("keeper", {keeper_module.__file__!r})
keeper = importlib.util.module_from_spec(spec)
sys.modules["keeper"] = keeper
spec.loader.exec_module(keeper)
keep = keeper.keep
def reached(point):
    if point == {point!r}:
        {then}
keeper.keep = lambda folder, lock, argv: keep(folder, lock, argv, reached=reached)
keeper.main(sys.argv[1:])
""")
    return script


def test_a_keeper_that_dies_before_the_start_record_leaves_nothing_and_the_key_can_be_used(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.launch.launcher._RACE_SECONDS", 0.2)
    with pytest.raises(NotReadyError, match="dies at once"):
        LocalLauncher(launcher.root, keeper=dying_keeper(tmp_path, "before_start")).submit(KEY, drivers.job(OBEDIENT))
    assert state(launcher) is DriverState.ABSENT
    monkeypatch.undo()
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING
    drivers.one_ready()


def test_a_keeper_that_dies_before_the_driver_spends_the_key(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path
) -> None:
    dying = LocalLauncher(launcher.root, keeper=dying_keeper(tmp_path, "before_driver"))
    assert dying.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.LOST
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.LOST
    assert drivers.runs() == []


def test_a_driver_that_dies_at_once_leaves_its_exit_code_whatever_python_reaps(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path
) -> None:
    # Python reaps the ended children of which nobody holds the object: when that goes, and with each further child.
    dead = "while keeper.stat_fields(*keeper._children())[0] != 'Z': pass"
    keeper = dying_keeper(tmp_path, "before_pid", f"exec({dead + chr(10) + 'subprocess._cleanup()'!r})")
    report = LocalLauncher(launcher.root, keeper=keeper).submit(KEY, drivers.job("raise SystemExit(12)"))
    assert wait_until(lambda: launcher.find(KEY).dead, SystemClock(), deadline_seconds=30), report
    ended = launcher.find(KEY)
    assert (ended.state, ended.exit_code) == (DriverState.ENDED, 12)


def test_a_keeper_that_dies_before_the_pid_record_leaves_a_driver_that_is_found_and_can_be_ended(
    launcher: LocalLauncher, drivers: Drivers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.launch.launcher._RACE_SECONDS", 0.2)
    dying = LocalLauncher(launcher.root, keeper=dying_keeper(tmp_path, "before_pid"))
    assert dying.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING
    run = drivers.one_ready()
    assert launcher.submit(KEY, drivers.job(OBEDIENT)).state is DriverState.RUNNING
    assert launcher.stop(KEY, 0.2).state is DriverState.LOST
    assert not alive(run["pid"])


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_caller_that_dies_around_the_start_of_the_keeper_leaves_nothing_or_a_driver_that_is_found(
    launcher: LocalLauncher, drivers: Drivers, moment: str
) -> None:
    job = drivers.job(OBEDIENT)
    script = f"""
import os, signal
from pathlib import Path
import subprocess
from sluice.launch import launcher
from sluice.streams.life.launcher import Job
class Dying(launcher.LocalLauncher):
    def _start_keeper(self, key, folder, job, lock):
        if {moment!r} == "after":
            launcher._read_to_end = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            super()._start_keeper(key, folder, job, lock)
        os.kill(os.getpid(), signal.SIGKILL)
Dying(Path({str(launcher.root)!r})).submit({KEY!r}, Job({job.argv!r}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=120).returncode == -signal.SIGKILL
    if moment == "before":
        assert state(launcher) is DriverState.ABSENT
        launcher.submit(KEY, job)
    drivers.one_ready()
    assert state(launcher) is DriverState.RUNNING
