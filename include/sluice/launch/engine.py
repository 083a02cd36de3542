"""The warm engine of a state folder: a Spark session that stays up between small batches.

It is a process under a keeper, as a driver is, and no stream's: when it dies, what ran in it is run again.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError
from sluice.launch.engine_client import Attachment, EngineAddress, EngineClient
from sluice.launch.launcher import LocalLauncher
from sluice.streams.life.launcher import DriverReport, DriverState, Job

_KEY = "engine-"
_NUMBERED = re.compile(rf"{_KEY}(\d+)")
_START_SECONDS = 120.0
_STOP_SECONDS = 20.0
_KEPT = 2


class WarmEngine:
    """The engine of one state folder. At most one lives; the next one has the next number.

    Args:
        folder: of all engines of this state folder, one each.
        clock: gives the time.
    """

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        self._folder = folder
        self._clock = clock or SystemClock()
        self._launcher = LocalLauncher(folder, self._clock)

    def living(self) -> DriverReport | None:
        """Return the engine that lives; None if none does."""
        number = self._newest()
        report = self._launcher.find(_key(number)) if number else None
        return report if report is not None and report.state is DriverState.RUNNING else None

    def client(self) -> EngineClient | None:
        """Return what asks the living engine; None if none lives, or it is starting."""
        living = self.living()
        address = None if living is None else EngineAddress.read(self._folder / living.key)
        return None if address is None else EngineClient(address)

    def start(self, job: Callable[[Path], Job]) -> DriverReport:
        """Start an engine unless one lives, and return without waiting for its session.

        Args:
            job: its process, for its folder.

        Raises:
            NotReadyError: it cannot be started.
        """
        if (living := self.living()) is not None:
            return living
        number = self._newest() + 1
        for old in range(1, number - _KEPT):
            shutil.rmtree(self._folder / _key(old), ignore_errors=True)
        return self._launcher.submit(_key(number), job(self._folder / _key(number)))

    @contextmanager
    def attached(self, wait_seconds: float = _START_SECONDS) -> Iterator[Attachment]:
        """Get a door into the engine, and keep it open inside this block.

        Args:
            wait_seconds: for an engine that is starting.

        Raises:
            NotReadyError: none answers, or it takes nobody in now.
        """
        with self._awaited(wait_seconds).attached() as attachment:
            yield attachment

    def settle(self) -> None:
        """Make sure that nothing goes on of a batch that is dead.

        An engine that does not answer is ended, and what was left in it with it.

        Raises:
            UnreachableError: it does not end.
        """
        if (client := self.client()) is None:
            return
        try:
            client.settle()
        except NotReadyError:
            self.kill()

    def stop(self) -> None:
        """End the engine, and what runs in it if that takes long.

        Raises:
            UnreachableError: it does not end.
        """
        if (living := self.living()) is not None:
            self._launcher.stop(living.key, _STOP_SECONDS)

    def kill(self) -> None:
        """End the engine at once.

        Raises:
            UnreachableError: it does not end.
        """
        if (living := self.living()) is not None:
            self._launcher.kill(living.key)

    def _newest(self) -> int:
        names = (folder.name for folder in self._folder.iterdir()) if self._folder.is_dir() else ()
        return max((int(match[1]) for name in names if (match := _NUMBERED.fullmatch(name))), default=0)

    def _awaited(self, wait_seconds: float) -> EngineClient:
        end = self._clock.monotonic() + wait_seconds
        while (client := self.client()) is None:
            if self.living() is None:
                raise NotReadyError("no warm engine lives.", fix="read the log of the newest one.")
            if self._clock.monotonic() > end:
                raise NotReadyError(
                    f"the warm engine has not started within {wait_seconds:.0f} s.", fix="read its log."
                )
            self._clock.sleep(0.1)
        return client


def _key(number: int) -> str:
    return f"{_KEY}{number}"
