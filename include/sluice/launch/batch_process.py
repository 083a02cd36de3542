"""A batch process on this machine, from its start to its end, as its starter follows it."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import psutil

from sluice.clock import Clock
from sluice.errors import NotReadyError, UnreachableError
from sluice.intervals.backfill.backfills import Backfill, Backfills, BackfillState
from sluice.intervals.backfill.claiming import DIED
from sluice.launch.backfill_lock import BackfillLock
from sluice.launch.cpu import TreeCpu
from sluice.launch.processes import wait_until
from sluice.launch.starvation import starvation_of
from sluice.settings import inherited
from sluice.streams.life.launcher import Job

LOG = "batch.log"
"""The process's output, in the backfill's folder."""

_POLL_SECONDS = 0.5


class BackfillObserver(Protocol):
    """Who follows a backfill."""

    def progressed(self, backfill: Backfill) -> None:
        """It was checked; called about twice a second."""
        ...

    def interrupted(self, backfill: Backfill | None) -> None:
        """Ctrl-C was pressed; None if it could not be checked."""
        ...


class BatchProcess:
    """A child process of the batch main, in a session of its own: Ctrl-C in the terminal does not reach it.

    Its output goes into the folder of its backfill, which is only known once it has claimed one.

    Raises:
        NotReadyError: it cannot be started.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.log = folder / f"{uuid.uuid4().hex}.log"
        try:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    job.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**inherited(job.inherits), **job.environment},
                    cwd=job.folder,
                    start_new_session=True,
                )
            self._cpu = TreeCpu(self._process.pid)
        except (OSError, psutil.Error) as error:
            raise NotReadyError(f"the batch was not started: {error}.", fix="repeat it when that is mended.") from error

    def follow(self, read: Callable[[], Backfill | None], follower: BackfillObserver, clock: Clock) -> int:
        """Wait for the end and return the exit code, negative after a signal."""
        backfill: Backfill | None = None
        while self._process.poll() is None:
            try:
                backfill = _read_or_none(read) or backfill
                if backfill is not None:
                    self._move_log(backfill)
                    follower.progressed(backfill)
                self._wait(clock)
            except KeyboardInterrupt:
                backfill = _read_or_none(read) or backfill  # it may have claimed its range since the last check
                follower.interrupted(backfill)
        if (backfill := _read_or_none(read) or backfill) is not None:
            self._move_log(backfill)
        return self._process.wait()

    def end(self) -> None:
        """Ask it to end, before it has claimed anything."""
        self._process.terminate()

    def starvation(self, *, claimed: bool) -> str:
        """Return what to say if it gets next to no processor time, see `starvation_of`."""
        return starvation_of(self._cpu, claimed=claimed)

    def _wait(self, clock: Clock) -> None:
        """Return at its end, or after a moment."""
        wait_until(lambda: self._process.poll() is not None, clock, deadline_seconds=_POLL_SECONDS)

    def _move_log(self, backfill: Backfill) -> None:
        wanted = self._folder / backfill.id / LOG
        if self.log != wanted and wanted.parent.is_dir():
            self.log = self.log.replace(wanted)


def _read_or_none(read: Callable[[], Backfill | None]) -> Backfill | None:
    try:
        return read()
    except UnreachableError:  # the batch knows best whether it can go on; its exit code says so
        return None


def end_now(backfills: Backfills, lock: BackfillLock, backfill_id: str, by: str) -> Backfill:
    """Kill a backfill's process, if it lives, and record the end. Nothing is half published: a commit is whole or not.

    Raises:
        RefusedError: it cannot be proven which process that is, or it runs on another machine.
        UnreachableError: it lives all the same, or the control database could not be queried.
    """
    holder = lock.kill()
    if holder is None:
        return backfills.end(backfill_id, BackfillState.FAILED, outcome="", why=DIED)
    why = f"killed by {by} (pid {holder.pid})"
    return backfills.end(backfill_id, BackfillState.CANCELLED, outcome="", why=why)
