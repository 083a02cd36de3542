"""What every launcher does: one suite for the keeper's processes and for the twin in memory."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from sluice.clock import SystemClock
from sluice.local.launcher import LocalLauncher
from sluice.streams.launcher import DriverReport, DriverState, Job, Launcher
from tests.integration.local.drivers import OBEDIENT, Drivers, eventually
from tests.twins.drivers import DictionaryLauncher


class Stage(Protocol):
    """A launcher, and what happens to its drivers."""

    launcher: Launcher

    def submit(self, key: str) -> DriverReport:
        """Start a driver that ends when asked, and return when it can be asked."""
        ...

    def crash(self, key: str, exit_code: int) -> None: ...

    def lose(self, key: str) -> None: ...


class Processes:
    def __init__(self, folder: Path) -> None:
        self.launcher = LocalLauncher(folder / "drivers")
        self._drivers = Drivers(folder)
        self._keys: list[str] = []

    def submit(self, key: str) -> DriverReport:
        before = len(self._drivers.runs())
        self._keys.append(key)
        report = self.launcher.submit(key, self._drivers.job(OBEDIENT))
        if report.state is DriverState.RUNNING and key not in self._keys[:-1]:
            eventually(lambda: len(self._drivers.runs()) > before)
        return report

    def crash(self, key: str, exit_code: int) -> None:
        assert exit_code < 0
        self._kill(self.launcher.find(key).pid, -exit_code)
        eventually(lambda: self.launcher.find(key).dead)

    def lose(self, key: str) -> None:
        driver = self.launcher.find(key).pid
        assert driver is not None
        status = Path(f"/proc/{driver}/status").read_text(encoding="utf-8")
        self._kill(int(status.partition("PPid:")[2].split()[0]), signal.SIGKILL)
        self._kill(driver, signal.SIGKILL)
        eventually(lambda: self.launcher.find(key).dead)

    def end_all(self) -> None:
        for key in self._keys:
            self.launcher.kill(key)

    def _kill(self, pid: int | None, number: int) -> None:
        assert pid is not None
        os.kill(pid, number)


class Dictionary:
    def __init__(self) -> None:
        self._twin = DictionaryLauncher(SystemClock())
        self.launcher: Launcher = self._twin

    def submit(self, key: str) -> DriverReport:
        return self.launcher.submit(key, Job((sys.executable,)))

    def crash(self, key: str, exit_code: int) -> None:
        self._twin.die(key, exit_code)

    def lose(self, key: str) -> None:
        self._twin.die(key, None)


@pytest.fixture(params=["processes", "twin"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    if request.param == "twin":
        yield Dictionary()
        return
    processes = Processes(tmp_path)
    yield processes
    processes.end_all()


def test_a_key_that_nobody_submitted_is_absent(stage: Stage) -> None:
    assert stage.launcher.find("local.flights.g1") == DriverReport("local.flights.g1", DriverState.ABSENT)


def test_a_submitted_driver_runs_and_is_found_under_its_key(stage: Stage) -> None:
    submitted = stage.submit("k.g1")
    assert submitted.state is DriverState.RUNNING
    assert submitted.pid is not None
    assert submitted.started_at is not None
    assert submitted.started_at.utcoffset() is not None
    assert stage.launcher.find("k.g1") == submitted


def test_a_second_submit_of_a_living_key_finds_the_first(stage: Stage) -> None:
    first = stage.submit("k.g1")
    assert stage.submit("k.g1") == first


@pytest.mark.parametrize("end", ["stop", "kill", "crash", "lose"])
def test_a_key_that_ever_ran_never_runs_again(stage: Stage, end: str) -> None:
    stage.submit("k.g1")
    match end:
        case "stop":
            stage.launcher.stop("k.g1", 20)
        case "kill":
            stage.launcher.kill("k.g1")
        case "crash":
            stage.crash("k.g1", -signal.SIGSEGV)
        case _:
            stage.lose("k.g1")
    ended = stage.launcher.find("k.g1")
    assert ended.dead
    assert stage.submit("k.g1") == ended
    assert stage.launcher.find("k.g1") == ended


def test_a_graceful_stop_leaves_exit_code_zero(stage: Stage) -> None:
    running = stage.submit("k.g1")
    report = stage.launcher.stop("k.g1", 20)
    assert (report.state, report.exit_code, report.pid) == (DriverState.ENDED, 0, running.pid)
    assert report.ended_at is not None
    assert report.started_at is not None
    assert report.ended_at >= report.started_at


def test_a_killed_driver_leaves_the_signal(stage: Stage) -> None:
    stage.submit("k.g1")
    report = stage.launcher.kill("k.g1")
    assert (report.state, report.exit_code) == (DriverState.ENDED, -signal.SIGKILL)


def test_a_crash_leaves_its_signal(stage: Stage) -> None:
    stage.submit("k.g1")
    stage.crash("k.g1", -signal.SIGSEGV)
    report = stage.launcher.find("k.g1")
    assert (report.state, report.exit_code) == (DriverState.ENDED, -signal.SIGSEGV)


def test_a_driver_that_dies_with_its_keeper_is_lost_without_an_exit_code(stage: Stage) -> None:
    stage.submit("k.g1")
    stage.lose("k.g1")
    report = stage.launcher.find("k.g1")
    assert (report.state, report.exit_code) == (DriverState.LOST, None)


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_ending_what_is_not_there_or_has_ended_changes_nothing(stage: Stage, verb: str) -> None:
    def end(key: str) -> DriverReport:
        return stage.launcher.stop(key, 1) if verb == "stop" else stage.launcher.kill(key)

    assert end("never.g1").state is DriverState.ABSENT
    assert stage.launcher.find("never.g1").state is DriverState.ABSENT
    stage.submit("k.g1")
    ended = stage.launcher.stop("k.g1", 20)
    assert end("k.g1") == ended


def test_two_keys_do_not_touch_each_other(stage: Stage) -> None:
    stage.submit("k.g1")
    second = stage.submit("k.g2")
    stage.launcher.kill("k.g1")
    assert stage.launcher.find("k.g2") == second
