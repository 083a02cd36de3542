"""Finds and signals processes by a mark in their environment: never by name, and never a stranger with a reused pid.

What we start carries a variable that names the folder it belongs to, and every descendant inherits it, whatever its
parent, session or process group. Linux keeps that environment in /proc until the process ends; a zombie has none.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from sluice.clock import Clock
from sluice.local.keeper import start_ticks

STACK_MARK = "SLUICE_STACK"
"""Set to the state folder in the processes of a stack."""
DRIVER_MARK = "SLUICE_DRIVER"
"""Set to the driver's folder in keeper, driver and what they start."""


def carrying(mark: str, value: str) -> dict[str, str]:
    """Return the variables that mark a process and what it starts."""
    # A process that changes its title (Airflow's and Spark's do) would write it over the environment that /proc shows.
    return {mark: value, "SPT_NOENV": "1"}


def marked(mark: str, value: str) -> list[int]:
    """Return the pids of living processes that carry the mark; this process and its ancestors are left out."""
    wanted = f"{mark}={value}".encode()
    spared = _ancestry()
    pids = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if pid not in spared and wanted in _environment(pid)]


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


def wait_until(condition: Callable[[], bool], clock: Clock, *, deadline_seconds: float) -> bool:
    """Poll until the condition holds; return whether it did before the deadline."""
    end = clock.monotonic() + deadline_seconds
    while not condition():
        if clock.monotonic() >= end:
            return False
        clock.sleep(0.05)
    return True


def _none_after_kill(mark: str, value: str) -> bool:
    """Kill and look again: what is killed may have been about to start another process."""
    kill(marked(mark, value))
    return not marked(mark, value)


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended, or it is another user's
        return []


def _ancestry() -> set[int]:
    pids, pid = set(), os.getpid()
    while pid > 0:
        pids.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:
            break
    return pids
