"""The launchers and their twin in memory behave alike."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.errors import UnreachableError
from sluice.launch.launcher import LocalLauncher
from sluice.launch.master import read_capacity
from sluice.streams.failures.capacity import ResourceRequest
from sluice.streams.life.launcher import DriverReport, DriverState, Job, Launcher
from tests.integration.launch.drivers import OBEDIENT, Drivers
from tests.suites.launcher_suite import LauncherSuite, RoomSuite
from tests.twins.drivers import DictionaryLauncher
from tests.twins.spark_master import MasterPage, serving, worker
from tests.waiting import eventually


class Processes:
    """Drivers that are real processes under a keeper."""

    def __init__(self, folder: Path) -> None:
        self.launcher: Launcher = LocalLauncher(folder / "drivers")
        self._drivers = Drivers(folder)
        self._keys: list[str] = []

    def job(self) -> Job:
        return self._drivers.job(OBEDIENT)

    def submit(self, key: str) -> DriverReport:
        before = len(self._drivers.runs())
        self._keys.append(key)
        report = self.launcher.submit(key, self.job())
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


class Cluster(Processes):
    """The same where a standalone master, of which only the page is real, says what is free."""

    def __init__(self, folder: Path, page: MasterPage) -> None:
        super().__init__(folder)
        self.launcher = LocalLauncher(folder / "drivers", capacity=lambda: read_capacity(page.address))
        self._page = page

    def job(self) -> Job:
        return replace(
            super().job(), resources=ResourceRequest("sluice-local-flights", 2, 700, ("raw_flights", "departures"))
        )

    def crowd(self) -> None:
        self._page.workers = [worker(), worker(used=1)]

    def make_room(self) -> None:
        self._page.workers = [worker(), worker()]


class Dictionary:
    def __init__(self) -> None:
        self._twin = DictionaryLauncher(SystemClock())
        self.launcher: Launcher = self._twin

    def job(self) -> Job:
        return Job((sys.executable,))

    def submit(self, key: str) -> DriverReport:
        return self.launcher.submit(key, self.job())

    def crash(self, key: str, exit_code: int) -> None:
        self._twin.die(key, exit_code)

    def lose(self, key: str) -> None:
        self._twin.die(key, None)

    def crowd(self) -> None:
        self._twin.lacking = "there is no room"

    def make_room(self) -> None:
        self._twin.lacking = ""


class TestLocalLauncher(LauncherSuite):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[Processes]:
        processes = Processes(tmp_path)
        yield processes
        processes.end_all()


class TestLauncherOfACluster(LauncherSuite, RoomSuite):
    @pytest.fixture
    def page(self) -> Iterator[MasterPage]:
        with serving(MasterPage()) as page:
            yield page

    @pytest.fixture
    def stage(self, tmp_path: Path, page: MasterPage) -> Iterator[Cluster]:
        cluster = Cluster(tmp_path, page)
        yield cluster
        cluster.end_all()

    def test_a_master_that_cannot_be_asked_is_no_room_and_no_lack_of_it(self, stage: Cluster, page: MasterPage) -> None:
        page.status = "RECOVERING"
        with pytest.raises(UnreachableError, match="says that it is RECOVERING"):
            stage.submit("k.g1")
        assert stage.launcher.find("k.g1").state is DriverState.ABSENT

    def test_a_driver_is_stopped_while_its_master_is_silent(self, stage: Cluster, page: MasterPage) -> None:
        stage.submit("k.g1")
        page.status = "STANDBY"
        assert stage.launcher.stop("k.g1", 20).exit_code == 0


class TestInMemoryLauncher(LauncherSuite, RoomSuite):
    @pytest.fixture
    def stage(self) -> Dictionary:
        return Dictionary()
