"""Finds and signals processes by a mark in their environment: never by name, and never a stranger with a reused pid.

What we start carries a variable that names the folder it belongs to, and every descendant inherits it, whatever its
parent, session or process group. Linux keeps that environment in /proc until the process ends; a zombie has none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from sluice.clock import Clock
from sluice.launch.keeper import start_ticks, stat_fields

STACK_MARK = "SLUICE_STACK"
"""Set to the state folder in the processes of a stack."""
DRIVER_MARK = "SLUICE_DRIVER"
"""Set to the driver's folder in keeper, driver and what they start."""

_PR_SET_PDEATHSIG = 1


def carrying(mark: str, value: str) -> dict[str, str]:
    """Return the variables that mark a process and what it starts."""
    # A process that changes its title (Airflow's and Spark's do) would write it over the environment that /proc shows.
    return {mark: value, "SPT_NOENV": "1"}


def marked(mark: str, value: str) -> list[int]:
    """Return the pids of living processes that carry the mark; this process and its ancestors are left out."""
    wanted = f"{mark}={value}".encode()
    spared = {os.getpid(), *(ancestor.pid for ancestor in psutil.Process().parents())}
    return [pid for pid in psutil.pids() if pid not in spared and wanted in _environment(pid)]


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started, as long as their parents live."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def lives(pid: int, *, ticks: int | None) -> bool:
    """Whether a process is still the one that started at `ticks`, and no zombie."""
    return start_ticks(pid) == ticks is not None and stat_fields(pid)[:1] not in ([], ["Z"], ["X"])


def send_signal(pid: int, number: signal.Signals, *, ticks: int | None) -> bool:
    """Signal a process if it is still the one that started at `ticks`. Return whether it was there."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if ticks is None or start_ticks(pid) != ticks:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    else:
        return True
    finally:
        os.close(handle)


def die_with_parent() -> Callable[[], None] | None:
    """Return what a child runs before its program (`preexec_fn`) so that it is killed when this thread's process ends.

    None where Python cannot ask the kernel for it. The promise outlives `exec`; grandchildren have no part in it.
    """
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python lack it
    except ImportError:
        return None
    libc, parent = ctypes.CDLL(None), os.getpid()

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the kernel was asked
            os._exit(1)

    return ask


def lower_priority(niceness: int) -> None:
    """Let others go first on this machine: a batch takes the time that streams leave.

    Holds for this thread and all that it starts, a JVM above all. It is still as fast where nothing else runs. What
    is nicer already (0 to 19) stays so.

    Linux may share the processors out among sessions first (`sched_autogroup_enabled`, the default of many systems):
    niceness then only counts within one. So the leader of a session makes all of it as nice.
    """
    own = max(niceness, os.getpriority(os.PRIO_PROCESS, 0))
    os.setpriority(os.PRIO_PROCESS, 0, own)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # there are no such groups, or another one has just been changed
            Path("/proc/self/autogroup").write_text(str(own), encoding="ascii")


def kill(pids: Iterable[int]) -> None:
    """Kill the processes that are still there."""
    for pid in pids:
        send_signal(pid, signal.SIGKILL, ticks=start_ticks(pid))


def end_marked(mark: str, value: str, clock: Clock, *, deadline_seconds: float) -> list[int]:
    """Ask all marked processes to end, kill those that do not, and return the pids that were asked."""
    asked = marked(mark, value)
    for pid in asked:
        send_signal(pid, signal.SIGTERM, ticks=start_ticks(pid))
    if not wait_until(lambda: not marked(mark, value), clock, deadline_seconds=deadline_seconds):
        wait_until(lambda: _none_after_kill(mark, value), clock, deadline_seconds=deadline_seconds)
    return asked


def try_lock(opened: int, kind: int) -> bool:
    """Take a lock of `kind` (`fcntl.LOCK_EX` or `LOCK_SH`) on an open file, and return whether that went at once.

    The kernel releases it with the process, however that ends.
    """
    try:
        fcntl.flock(opened, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_until(condition: Callable[[], bool], clock: Clock, *, deadline_seconds: float) -> bool:
    """Poll until the condition holds; return whether it did before the deadline."""
    end = clock.monotonic() + deadline_seconds
    while not condition():
        if clock.monotonic() >= end:
            return False
        clock.sleep(0.05)
    return True


def _none_after_kill(mark: str, value: str) -> bool:
    """Kill and check again: what is killed may have been about to start another process."""
    kill(marked(mark, value))
    return not marked(mark, value)


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended, or it is another user's
        return []
