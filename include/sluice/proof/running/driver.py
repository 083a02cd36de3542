"""The driver of a proof, started by the launcher that streams have, and waiting for what it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sluice.clock import Clock
from sluice.errors import NotReadyError
from sluice.launch.processes import descendants, wait_until
from sluice.project.project import Project
from sluice.proof.running.traffic import Traffic
from sluice.specs.catalog.catalog import Unit
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.launcher import DriverReport, DriverState

_STOP_SECONDS, _POLL_SECONDS, _LONGEST_SECONDS = 90.0, 0.5, 1800.0


class DriverEndedError(NotReadyError):
    """A driver ended though nobody asked it to."""


class ProofDriver:
    """Runs the one unit of a proof's project, each time under the next generation."""

    def __init__(self, project: Project, unit: Unit) -> None:
        self.unit = unit
        self.clock = project.clock
        self.generation = 0
        self._project = project
        self._launcher = project.processes.launcher()

    def start(self) -> None:
        """Start the next generation.

        Raises:
            NotReadyError: it could not be started.
        """
        self.generation += 1
        now = self._project.clock.now()
        attempt = Attempt(self.unit.name, self.generation, self._key, AttemptState.INTENT, now)
        self._launcher.submit(self._key, self._project.processes.driver(attempt))

    @property
    def bootstrap(self) -> Sequence[str]:
        """The addresses of the brokers that it reads from."""
        return self._project.kafka.bootstrap()

    def pids(self) -> Sequence[int]:
        """Return the driver's process and all that it has started; nothing if it does not run."""
        report = self.report()
        if report.state is not DriverState.RUNNING or report.pid is None:
            return ()
        return (report.pid, *descendants(report.pid))

    def report(self) -> DriverReport:
        """Return what its launcher knows."""
        return self._launcher.find(self._key)

    def wait_for_end(self, deadline_seconds: float) -> DriverReport:
        """Wait for its death; kill it if it does not come."""
        if wait_until(lambda: self.report().dead, self.clock, deadline_seconds=deadline_seconds):
            return self.report()
        return self._launcher.kill(self._key)

    def kill(self) -> None:
        """Kill it at once, if one was ever started."""
        if self.generation:
            self._launcher.kill(self._key)

    def stop(self) -> None:
        """Let it end, if one was ever started."""
        if self.generation:
            self._launcher.stop(self._key, _STOP_SECONDS)

    def refuse_dead(self) -> None:
        """Make sure that it lives or was not yet seen to die.

        Raises:
            DriverEndedError: it ended though nobody asked it to.
        """
        report = self.report()
        if report.dead:
            said = f": {report.failure}" if report.failure else ""
            raise DriverEndedError(
                f"generation {self.generation} of the driver ended with exit code {report.exit_code}{said}.",
                fix=f"read {self.log()}.",
            )

    def log(self) -> Path:
        """Return the file with its output."""
        return self._launcher.log(self._key)

    def checkpoints(self) -> Sequence[Path]:
        """Return the checkpoint folders of its streams, as far as they are there."""
        folders = (self._project.folder.checkpoint(stream) for stream in self.unit.streams)
        return [folder for folder in folders if folder.is_dir()]

    @property
    def _key(self) -> str:
        return f"{self.unit.name}-g{self.generation}"


class DriverWait:
    """Waits for what a driver does.

    Args:
        driver: nothing is waited for once it has ended by itself.
        clock: gives the time.
    """

    def __init__(self, driver: ProofDriver, clock: Clock) -> None:
        self._driver, self._clock = driver, clock

    def until(self, condition: Callable[[], bool], seconds: float, traffic: Traffic | None = None) -> bool:
        """Return whether a condition held before so many seconds had passed.

        Raises:
            DriverEndedError: the driver has ended before.
        """

        def holds() -> bool:
            if traffic is not None:
                traffic.refuse_failed()
            if condition():
                return True
            self._driver.refuse_dead()
            self._clock.sleep(_POLL_SECONDS)
            return False

        return wait_until(holds, self._clock, deadline_seconds=seconds)

    def to_the_end(self, condition: Callable[[], bool], progress: Callable[[], object], patience: float) -> bool:
        """Wait until a condition holds, or the pipeline has not got on for so many seconds.

        Args:
            condition: after which nothing more is to come.
            progress: differs whenever the pipeline has got on.
            patience: in seconds.

        Returns:
            whether what is there now is all that comes; not if the pipeline still got on after half an hour.

        Raises:
            DriverEndedError: the driver has ended before.
        """
        end, holds = self._clock.monotonic() + _LONGEST_SECONDS, False
        while self._clock.monotonic() < end:
            before = progress()

            def moved(before: object = before) -> bool:
                nonlocal holds
                holds = condition()
                return holds or progress() != before

            if not self.until(moved, patience) or holds:
                return True
        return False
