"""Runs drivers on this machine: one folder, one lock and one keeper per key.

The lock answers "does it live" and the keeper's records answer "how did it end". A reader takes the lock shared: what
it reads then no longer changes. See `sluice.launch.keeper` for the records and for what a crash leaves at each point.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sluice.clock import Clock, SystemClock
from sluice.disk import disk_remedy
from sluice.errors import CorruptionError, NotReadyError, UnreachableError
from sluice.failpoints import failpoint
from sluice.launch.keeper import EXIT, LOCK, LOG, PID, START
from sluice.launch.processes import DRIVER_MARK, carrying, kill, marked, send_signal, try_lock, wait_until
from sluice.settings import inherited
from sluice.streams.failures import failure
from sluice.streams.failures.capacity import ClusterCapacity, NoCapacityError, shortage
from sluice.streams.life.launcher import DriverReport, DriverState, Job

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_START_SECONDS = 30.0
_RACE_SECONDS = 30.0
_KILL_SECONDS = 10.0
_NOTHING_TO_LOCK = -1
_KEEPER = Path(__file__).with_name("keeper.py")


@dataclass
class LocalLauncher:
    """The `Launcher` of a single machine.

    Attributes:
        root: the folder of all drivers' folders.
        clock: gives the time.
        keeper: the program of that name.
        alive: reports of drivers that lived when they were last checked, for several launchers of one root. What a
            keeper wrote about a start never changes, so it is read once; that a driver lives is proven again each time.
        capacity: asks the cluster that gives the cores what it has; None: drivers share the cores of this machine.

    Known limitation: a descendant of a driver that clears its environment *and* outlives a killed keeper is not found.
    """

    root: Path
    clock: Clock = field(default_factory=SystemClock)
    _: KW_ONLY
    keeper: Path = _KEEPER
    alive: dict[str, DriverReport] = field(default_factory=dict)
    capacity: Callable[[], ClusterCapacity] | None = None

    def submit(self, key: str, job: Job) -> DriverReport:
        """Start `job` under `key`, or return what is found under it.

        The driver inherits of this process's environment what every process needs and what the job names, no more.

        Raises:
            NoCapacityError: the cluster has none for it; nothing was started, and the key may be used later.
            NotReadyError: the keeper could not start; nothing ran.
            UnreachableError: another process holds the key and does not proceed, or the folder cannot be read.
        """
        if self.capacity and self.find(key).state is DriverState.ABSENT and (why := self.shortage(job)):
            raise NoCapacityError(why)
        folder = self._folder(key)
        end = self.clock.monotonic() + _RACE_SECONDS
        while True:
            with folder_lock(folder, fcntl.LOCK_EX, create=True) as lock:
                if lock is not None and _read(folder / START) is None:
                    self._start_keeper(key, folder, job, lock)
            late = self.clock.monotonic() > end
            try:
                report = self.find(key)
            except _BeingSubmittedError:
                if late:
                    raise
            else:
                if report.dead or report.pid is not None or (late and report.state is DriverState.RUNNING):
                    failpoint("after_submit_before_bind", key)
                    return report
                if late:
                    raise NotReadyError(f"{key} was not started: its keeper dies at once.", fix=f"inspect {folder}.")
            self.clock.sleep(0.02)

    def shortage(self, job: Job) -> str:
        """Return why the cluster has no capacity for a job, as a clause; empty if it has, or if there is none."""
        return shortage(job.resources, self.capacity()) if self.capacity and job.resources else ""

    def find(self, key: str) -> DriverReport:
        """Check once, without waiting.

        Raises:
            UnreachableError: it is being submitted at this moment, or its folder cannot be read.
        """
        if (known := self.alive.pop(key, None)) is not None and _still_runs(f"{self.root}/{key}"):
            self.alive[key] = known
            return known
        report, held = self._read_records(key)
        if held and report.state is DriverState.RUNNING and report.pid is not None:
            self.alive[key] = report
        return report

    def _read_records(self, key: str) -> tuple[DriverReport, bool]:
        """Read all that is on record, and return it and whether a process holds the lock."""
        folder = self._folder(key)
        with folder_lock(folder, fcntl.LOCK_SH) as lock:
            held = lock is None
            # In the reverse order of writing: who sees a record sees the earlier ones too.
            ended, process, started = _read(folder / EXIT), _read(folder / PID), _read(folder / START)
            if started is None and held:
                raise _BeingSubmittedError(key)
            if started is None:
                return DriverReport(key, DriverState.ABSENT), held
            # Without a holder and without a record the keeper was killed and the driver is gone; its JVM may not be.
            lives = ended is None and (held or bool(self._processes(key)))
        report = DriverReport(
            key,
            DriverState.ENDED if ended else DriverState.RUNNING if lives else DriverState.LOST,
            pid=process["pid"] if process else None,
            started_at=datetime.fromisoformat((process or started)["at"]),
            ended_at=datetime.fromisoformat(ended["at"]) if ended else None,
            exit_code=ended["exit_code"] if ended else None,
            failure=None if lives else _exit_report(folder / failure.FILE),
        )
        return report, held

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        """Send SIGTERM to the driver alone (its JVM must outlive the last batch); after the deadline, kill."""
        end = self.clock.monotonic() + deadline_seconds
        asked = False
        while (report := self.find(key)).state is DriverState.RUNNING:
            asked = asked or self._signal(key, signal.SIGTERM)
            if self.clock.monotonic() >= end:
                return self.kill(key)
            self.clock.sleep(0.05)
        return report

    def kill(self, key: str) -> DriverReport:
        """Kill the driver and all that it started. The keeper still records the end, if it lives.

        Raises:
            UnreachableError: something of it lives all the same.
        """
        if not self._killed(key, spare_keeper=True):
            self._killed(key, spare_keeper=False)  # it was stopped or is stuck
        report = self.find(key)
        if report.state is DriverState.RUNNING:
            raise UnreachableError(
                f"{key} (pid {report.pid}) lives {_KILL_SECONDS:.0f} s after SIGKILL: the kernel does not let it go.",
                fix="see what its processes wait for (state D in `ps`), usually a disk.",
            )
        return report

    def log(self, key: str) -> Path:
        """Return the file with the driver's output."""
        return self._folder(key) / LOG

    def living(self) -> list[DriverReport]:
        """Return the reports of all drivers that live."""
        if not self.root.is_dir():
            return []
        reports = (self.find(folder.name) for folder in sorted(self.root.iterdir()) if folder.is_dir())
        return [report for report in reports if report.state is DriverState.RUNNING]

    def _folder(self, key: str) -> Path:
        if _KEY.fullmatch(key) is None:
            raise ValueError(f"{key!r} is no key: letters, digits, dot, dash and underscore, at most 200")
        return self.root.resolve() / key

    def _start_keeper(self, key: str, folder: Path, job: Job, lock: int) -> None:
        """Start the keeper with the lock and return when the driver is on record."""
        environment = {**inherited(job.inherits), **job.environment, **carrying(DRIVER_MARK, str(folder))}
        command = [sys.executable, "-I", "-S", str(self.keeper), str(folder), str(lock), *job.argv]
        try:
            keeper = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=job.folder,
                pass_fds=(lock,),
            )
        except OSError as error:
            raise NotReadyError(f"{key} was not started: {error}.", fix="repeat it when that is mended.") from error
        with keeper:  # it forks at once: what is waited for here is not the driver's end
            output = _read_to_end(keeper, _START_SECONDS)
        if output is None:
            raise UnreachableError(
                f"the keeper of {key} does not answer for {_START_SECONDS:.0f} s.", fix=f"inspect {folder}."
            )
        if output and _read(folder / START) is None:
            raise NotReadyError(
                f"{key} was not started: {output.splitlines()[-1]}.", fix="mend that, then repeat it; nothing ran."
            )

    def _signal(self, key: str, number: signal.Signals) -> bool:
        record = _read(self._folder(key) / PID)
        return record is not None and send_signal(record["pid"], number, ticks=record["ticks"])

    def _killed(self, key: str, *, spare_keeper: bool) -> bool:
        """Kill what there is of a driver until it is dead; False if it is not in time."""

        def dead() -> bool:
            record = _read(self._folder(key) / PID)
            kill(pid for pid in self._processes(key) if not (spare_keeper and record and pid == record["keeper"]))
            return self.find(key).state is not DriverState.RUNNING

        return wait_until(dead, self.clock, deadline_seconds=_KILL_SECONDS)

    def _processes(self, key: str) -> list[int]:
        return marked(DRIVER_MARK, str(self._folder(key)))


class _BeingSubmittedError(UnreachableError):
    """The lock is held and nothing is on record yet: in a moment it is RUNNING, or ABSENT again."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is being submitted by another process right now.", fix="try again in a second.")


@contextlib.contextmanager
def folder_lock(folder: Path, kind: int, *, create: bool = False) -> Iterator[int | None]:
    """Yield a descriptor that holds the folder's lock, or None if another process holds it.

    Raises:
        UnreachableError: the folder cannot be used.
    """
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        lock = os.open(folder / LOCK, flags, 0o600) if folder.exists() else None
    except OSError as error:
        raise UnreachableError(
            f"{folder} cannot be used: {error.strerror}.", fix=disk_remedy(error.errno, "check its owner and disk.")
        ) from error
    if lock is None:
        yield _NOTHING_TO_LOCK
        return
    try:
        yield lock if try_lock(lock, kind) else None
    finally:
        os.close(lock)


def _still_runs(folder: str) -> bool:
    """Whether a driver that ran holds its lock, and has left no record of an end. False: the records must be read."""
    try:
        lock = os.open(f"{folder}/{LOCK}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(lock, fcntl.LOCK_SH) and not os.path.lexists(f"{folder}/{EXIT}")
    finally:
        os.close(lock)


def _read_to_end(process: subprocess.Popen[bytes], deadline_seconds: float) -> str | None:
    """Return what the process wrote until it closed its output; None if it did not in time."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    output = b""
    while select.select([process.stdout], [], [], deadline_seconds)[0]:
        if not (chunk := os.read(process.stdout.fileno(), 65536)):
            return output.decode(errors="replace").strip()
        output += chunk
    return None


def _read(path: Path) -> dict[str, Any] | None:
    """Return a record, or None if it was not written.

    Raises:
        CorruptionError: it is there and is none.
    """
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreachableError(f"{path} cannot be read: {error.strerror}.", fix="check its owner and disk.") from error
    except ValueError as error:
        raise CorruptionError(f"{path} is no record of a keeper: {error}.", fix="see who wrote it.") from error
    return record


def _exit_report(path: Path) -> failure.Failure | None:
    """Return what the driver said before it ended. Whatever is wrong with it, the death stands."""
    try:
        return failure.from_record(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None
