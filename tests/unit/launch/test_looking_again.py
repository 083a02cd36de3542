"""A driver that is checked again and again, told from files and a lock alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fcntl import LOCK_EX
from pathlib import Path

import pytest

from sluice.launch.keeper import EXIT, LOCK, PID, START
from sluice.launch.launcher import LocalLauncher
from sluice.launch.processes import try_lock
from sluice.streams.life.launcher import DriverReport, DriverState

KEY = "local.flights.g1"
AT = "2013-01-07T12:00:00+00:00"


class Driver:
    """The folder of a driver, as its keeper leaves it, and the lock that it holds."""

    def __init__(self, root: Path) -> None:
        self.folder = root / KEY
        self.folder.mkdir()
        self.write(START, argv=["driver"], at=AT)
        self.lock = os.open(self.folder / LOCK, os.O_CREAT | os.O_RDWR)
        assert try_lock(self.lock, LOCK_EX)

    def write(self, name: str, **record: object) -> None:
        (self.folder / name).write_text(json.dumps(record))

    def introduce(self, pid: int = 7) -> None:
        self.write(PID, pid=pid, ticks=1, keeper=8, at=AT)

    def let_go(self) -> None:
        os.close(self.lock)
        self.lock = -1


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    made = Driver(tmp_path)
    yield made
    if made.lock >= 0:
        made.let_go()


def test_what_never_changes_is_read_once_for_all_launchers_that_share_it(tmp_path: Path, driver: Driver) -> None:
    driver.introduce()
    alive: dict[str, DriverReport] = {}
    seen = LocalLauncher(tmp_path, alive=alive).find(KEY)
    assert (seen.state, seen.pid) == (DriverState.RUNNING, 7)
    driver.introduce(pid=99)
    assert LocalLauncher(tmp_path, alive=alive).find(KEY) == seen
    assert LocalLauncher(tmp_path).find(KEY).pid == 99


def test_a_driver_whose_pid_is_not_on_record_yet_is_read_again(tmp_path: Path, driver: Driver) -> None:
    launcher = LocalLauncher(tmp_path)
    assert (launcher.find(KEY).state, launcher.find(KEY).pid) == (DriverState.RUNNING, None)
    driver.introduce()
    assert launcher.find(KEY).pid == 7


@pytest.mark.parametrize("recorded", [True, False])
def test_a_death_is_seen_by_the_next_check_and_nothing_is_remembered_of_it(
    tmp_path: Path, driver: Driver, recorded: bool
) -> None:
    driver.introduce()
    alive: dict[str, DriverReport] = {}
    launcher = LocalLauncher(tmp_path, alive=alive)
    assert launcher.find(KEY).state is launcher.find(KEY).state is DriverState.RUNNING
    if recorded:
        driver.write(EXIT, pid=7, exit_code=-9, at=AT)
        assert launcher.find(KEY).exit_code == -9, "the keeper writes the record while it holds the lock"
    driver.let_go()
    ended = launcher.find(KEY)
    assert (ended.state, ended.exit_code) == ((DriverState.ENDED, -9) if recorded else (DriverState.LOST, None))
    assert alive == {}


def test_a_folder_that_is_lost_under_a_driver_that_was_seen_proves_no_death(tmp_path: Path, driver: Driver) -> None:
    driver.introduce()
    launcher = LocalLauncher(tmp_path)
    launcher.find(KEY)
    driver.folder.rename(tmp_path / "gone")
    assert launcher.find(KEY).state is DriverState.ABSENT
