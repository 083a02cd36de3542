"""A launcher whose drivers are entries in a dictionary: counts what was started, may be unreachable or full."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sluice.clock import Clock
from sluice.errors import UnreachableError
from sluice.streams.failures.capacity import NoCapacityError
from sluice.streams.failures.failure import Failure
from sluice.streams.life.launcher import DriverReport, DriverState, Job


class DictionaryLauncher:
    """Implements `sluice.streams.life.launcher.Launcher`. A key that ever ran never runs again.

    While `lacking` says something, there is no room.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reports: dict[str, DriverReport] = {}
        self.jobs: dict[str, Job] = {}
        self.reachable = True
        self.lacking = ""

    @property
    def alive(self) -> list[str]:
        return [key for key, report in self._reports.items() if report.state is DriverState.RUNNING]

    @property
    def started(self) -> list[str]:
        return list(self.jobs)

    def submit(self, key: str, job: Job) -> DriverReport:
        if self.find(key).state is DriverState.ABSENT:
            if self.lacking:
                raise NoCapacityError(self.lacking)
            self.jobs[key] = job
            pid = 100 + len(self.jobs)
            self._reports[key] = DriverReport(key, DriverState.RUNNING, pid=pid, started_at=self._clock.now())
        return self._reports[key]

    def shortage(self, job: Job) -> str:
        assert job
        return self.lacking

    def find(self, key: str) -> DriverReport:
        if not self.reachable:
            raise UnreachableError("the launcher does not answer.")
        return self._reports.get(key, DriverReport(key, DriverState.ABSENT))

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        assert deadline_seconds >= 0
        return self.find(key) if self.find(key).dead else self.die(key, 0)

    def kill(self, key: str) -> DriverReport:
        return self.find(key) if self.find(key).dead else self.die(key, -9)

    def log(self, key: str) -> Path:
        return Path(f"{key}.log")

    def die(self, key: str, exit_code: int | None, failure: Failure | None = None) -> DriverReport:
        """End a driver; without an exit code it is lost."""
        report = self._reports.get(key, DriverReport(key, DriverState.ABSENT))
        if report.state is DriverState.RUNNING:
            state = DriverState.LOST if exit_code is None else DriverState.ENDED
            report = replace(report, state=state, exit_code=exit_code, ended_at=self._clock.now(), failure=failure)
            self._reports[key] = report
        return report

    def forget(self, key: str) -> None:
        """Lose the state folder."""
        del self._reports[key]
