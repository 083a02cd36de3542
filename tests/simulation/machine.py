"""The launcher of a simulation: it knows what its drivers really do, also where it says nothing of it.

Truth and report differ: a driver that is paused is RUNNING, and one whose state folder was lost may live unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from sluice.clock import Clock
from sluice.errors import UnreachableError
from sluice.streams.failures.capacity import NoCapacityError
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import Failure, FailureClass, class_of_exit
from sluice.streams.life.launcher import DriverReport, DriverState, Job
from tests.simulation.table import Driver
from tests.simulation.transitions import Tally

_LACK = "no core is free"
_READS_ALL = 12
"""After so many steps a driver with a plan has read what there is, and ends by itself between two batches."""


class Process:
    """A driver that was started.

    Attributes:
        alive: the truth.
        paused: by SIGSTOP: alive, and it does nothing.
        report: what the launcher says.
    """

    def __init__(self, key: str, driver: Driver, started_at: datetime, pid: int) -> None:
        self.key = key
        self.generation = driver.generation
        self.driver = driver
        self.alive = True
        self.paused = False
        self.steps = 0
        self.report = DriverReport(key, DriverState.RUNNING, pid=pid, started_at=started_at)


class Machine:
    """Implements `sluice.streams.life.launcher.Launcher`.

    Args:
        clock: gives the time.
        tally: counts.
        started: called with each process before it starts.
        model: the module with the table and what drivers do to it.
    """

    def __init__(self, clock: Clock, tally: Tally, started: Callable[[Process], None], model: Any) -> None:  # noqa: ANN401 - it may be a copy
        self._clock = clock
        self._tally = tally
        self._started = started
        self._known: dict[str, Process] = {}
        self.processes: list[Process] = []
        self._model = model
        self.table = model.Table()
        self.checkpoint = model.Checkpoint()
        self.room = True
        self.planned_end: ExitCode | None = None
        self.being_submitted: set[str] = set()
        """Keys that a submitter holds at this moment."""

    @property
    def alive(self) -> list[Process]:
        return [process for process in self.processes if process.alive]

    def submit(self, key: str, job: Job) -> DriverReport:
        assert job.argv
        self._refuse_held(key)
        if key not in self._known:
            if not self.room:
                raise NoCapacityError(_LACK)
            driver = self._model.Driver(int(key.rpartition(".g")[2]), self.table, self.checkpoint)
            process = Process(key, driver, self._clock.now(), 100 + len(self.processes))
            self._started(process)
            self.processes.append(process)
            self._known[key] = process
        return self._known[key].report

    def shortage(self, job: Job) -> str:
        assert job.argv
        return "" if self.room else _LACK

    def find(self, key: str) -> DriverReport:
        self._refuse_held(key)
        process = self._known.get(key)
        report = DriverReport(key, DriverState.ABSENT) if process is None else process.report
        self._tally[f"find: {report.state}"] += 1
        return report

    def ask_to_stop(self, key: str) -> None:
        """Do the first half of a stop: the driver finishes its batch, if it is given the time."""
        self._refuse_held(key)
        if key in self._known:
            self._known[key].driver.stopping = True

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        """Do the rest of a stop: what still lives is out of time."""
        assert deadline_seconds >= 0
        process = self._known.get(key)
        if process is not None and process.alive:
            busy = process.paused or not process.driver.idle
            self.die(process, -9 if busy else ExitCode.STOPPED)
        return self.find(key)

    def kill(self, key: str) -> DriverReport:
        return self.stop(key, 0)

    def log(self, key: str) -> Path:
        return Path(f"{key}.log")

    def work(self, process: Process) -> None:
        """Let a driver take its next step."""
        process.steps += 1
        if self.planned_end is not None and process.driver.idle and process.steps > _READS_ALL:
            self.die(process, self.planned_end)
            return
        exit_code = process.driver.step()
        if process.driver.did:
            self._tally[process.driver.did] += 1
            process.driver.did = ""
        if exit_code is not None:
            self.die(process, exit_code, speaks=True)

    def die(self, process: Process, exit_code: int | None, *, speaks: bool = False) -> None:
        """End a driver; without an exit code it is lost.

        Args:
            process: the driver.
            exit_code: negative for a signal.
            speaks: it leaves last words.
        """
        now = self._clock.now()
        process.alive = False
        if not process.driver.began:
            self._tally["driver: dies unopened"] += 1
        if exit_code is not None and exit_code >= 0:
            self._tally[f"driver: exits {ExitCode(exit_code).name}"] += 1
        before = process.report
        kind = class_of_exit(exit_code)
        process.report = DriverReport(
            process.key,
            DriverState.LOST if exit_code is None else DriverState.ENDED,
            pid=before.pid,
            started_at=before.started_at,
            ended_at=None if exit_code is None else now,
            exit_code=exit_code,
            failure=Failure(kind, "Error", "x", now) if speaks and kind is not FailureClass.STOPPED else None,
        )

    def lose_folder(self) -> None:
        """Forget every key; what lives, lives on unseen."""
        self._known.clear()

    def lose_checkpoint(self) -> None:
        """Begin a new one, which cuts batches elsewhere; what the table holds, it reads once more."""
        self.checkpoint = self._model.Checkpoint(records=17 - self.checkpoint.records)

    def knows(self, key: str) -> bool:
        return key in self._known

    def _refuse_held(self, key: str) -> None:
        if key in self.being_submitted:
            self._tally["find: being submitted"] += 1
            raise UnreachableError(f"{key} is being submitted by another process right now.")
