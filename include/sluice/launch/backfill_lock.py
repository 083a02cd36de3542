"""The lock that a backfill's process holds for its life: whether it lives, and which process it is.

The lock answers "does it live": the kernel lets go of it when the process ends, however it ends. What is written into
the file only says whom to signal.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.errors import RefusedError, UnreachableError
from sluice.launch.keeper import start_ticks
from sluice.launch.processes import descendants, lives, send_signal, try_lock, wait_until

LOCK = "lock"
_KILL_SECONDS = 10.0
_TESTER_SECONDS = 2.0
"""Who only checks a lock is in the way of who takes it, for a moment."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock.

    Attributes:
        pid: its number on `host`.
        ticks: when it started, in clock ticks since boot: a reused pid has another.
        host: the machine that it runs on.
        at: when it took the lock (UTC, ISO 8601).
    """

    pid: int
    ticks: int | None
    host: str
    at: str


class BackfillLock:
    """One backfill's lock, in its folder (`StateFolder.backfill(id)`), which `take` creates."""

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        self._path = folder / LOCK
        self._clock = clock or SystemClock()
        self._held: int | None = None

    def take(self) -> None:
        """Take the lock and keep it until `release`, or until this process ends.

        Raises:
            RefusedError: another process holds it.
            UnreachableError: the folder cannot be used.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from error
        if not wait_until(lambda: try_lock(lock, fcntl.LOCK_EX), self._clock, deadline_seconds=_TESTER_SECONDS):
            os.close(lock)
            raise RefusedError(f"the backfill {self._path.parent.name} is being worked on by {self.holder()}.")
        me = Holder(os.getpid(), start_ticks(os.getpid()), socket.gethostname(), datetime.now(UTC).isoformat())
        os.ftruncate(lock, 0)
        os.pwrite(lock, json.dumps(asdict(me)).encode(), 0)
        self._held = lock

    def release(self) -> None:
        """Let go of the lock, if this object holds it."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def held(self) -> bool:
        """Whether a living process holds it.

        Raises:
            UnreachableError: the file cannot be opened.
        """
        with self._opened() as lock:
            # Shared: who only reads must not be in the way of who takes it.
            return lock is not None and not try_lock(lock, fcntl.LOCK_SH)

    def holder(self) -> Holder | None:
        """Return the process that holds the lock now; None if none does, or it has not written its number yet."""
        if not self.held():
            return None
        try:
            return Holder(**json.loads(self._path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def kill(self) -> Holder | None:
        """Kill the process that holds the lock and what it started; return it, or None if none held the lock.

        Raises:
            RefusedError: it cannot be proven which process that is, or it runs on another machine.
            UnreachableError: the lock is held all the same, or something that the process started lives.
        """
        if not self.held():
            return None
        holder = self.holder()
        if holder is None or holder.host != socket.gethostname() or start_ticks(holder.pid) != holder.ticks:
            raise RefusedError(
                f"{self._path} is held, but by no process of this machine that can be named: {holder}.",
                fix="let it end between two chunks, or end it where it runs.",
            )
        family = [(pid, start_ticks(pid)) for pid in (holder.pid, *descendants(holder.pid))]
        for pid, ticks in family:
            send_signal(pid, signal.SIGKILL, ticks=ticks)

        def gone() -> bool:
            return not self.held() and not any(lives(pid, ticks=ticks) for pid, ticks in family)

        if not wait_until(gone, self._clock, deadline_seconds=_KILL_SECONDS):
            raise UnreachableError(
                f"{self._path} is held, or something that its process started lives, {_KILL_SECONDS:.0f} s after "
                f"SIGKILL to pid {holder.pid}.",
                fix="see what that process waits for (state D in `ps`), usually a disk.",
            )
        return holder

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        try:
            lock = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield lock
        finally:
            os.close(lock)

    def _unusable(self, error: OSError) -> UnreachableError:
        return UnreachableError(f"{self._path} cannot be used: {error.strerror}.", fix="check its owner and disk.")
