"""Faults that strike nothing but the driver of a proof, each with evidence that it did."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import psutil

from sluice.launch.keeper import start_ticks, stat_fields
from sluice.launch.processes import lives, send_signal, wait_until
from sluice.proof.observations import FiredFault
from sluice.proof.running.driver import ProofDriver

_DEATH_SECONDS, _STILL_SECONDS, PAUSE_SECONDS = 60.0, 10.0, 5.0


class RequestedFault(StrEnum):
    """What may be requested."""

    KILL_DRIVER = "kill-driver"
    KILL_JVM = "kill-jvm"
    PAUSE_DRIVER = "pause-driver"
    LOSE_CHECKPOINT = "lose-checkpoint"


def strike(fault: RequestedFault, driver: ProofDriver) -> FiredFault:
    """Let a fault strike, and start the driver again where it has died.

    Returns:
        the fault; without evidence if it could not strike, and not healed yet.
    """
    at = driver.clock.now().timestamp()
    evidence = _STRIKES[fault](driver)
    return FiredFault(fault.value, at, evidence, healed=False)


def _kill_driver(driver: ProofDriver) -> str:
    evidence = _killed(driver)
    driver.start()
    return evidence


def _lose_checkpoint(driver: ProofDriver) -> str:
    evidence = _killed(driver)
    folders = driver.checkpoints()
    for folder in folders:
        shutil.rmtree(folder)
    gone = [folder.name for folder in folders if not folder.exists()]
    driver.start()
    return f"{evidence}; the checkpoints {', '.join(gone)} were there and are gone" if evidence and gone else ""


def _kill_jvm(driver: ProofDriver) -> str:
    generation, java = driver.generation, _java(driver.pids())
    if java is None:
        return ""
    ticks = start_ticks(java)
    send_signal(java, signal.SIGKILL, ticks=ticks)
    ended = driver.wait_for_end(_DEATH_SECONDS)
    gone = not lives(java, ticks=ticks)
    driver.start()
    said = f"Java process {java} of generation {generation} is gone; the driver ended with exit code {ended.exit_code}"
    return said if gone and ended.dead else ""


def _pause_driver(driver: ProofDriver) -> str:
    pids = driver.pids()
    known = {pid: start_ticks(pid) for pid in pids}
    try:
        for pid, ticks in known.items():
            send_signal(pid, signal.SIGSTOP, ticks=ticks)
        still = wait_until(lambda: all(map(_is_stopped, pids)), driver.clock, deadline_seconds=_STILL_SECONDS)
        driver.clock.sleep(PAUSE_SECONDS)
        still = still and all(map(_is_stopped, pids)) and _is_paused(pids)
    finally:
        for pid, ticks in known.items():
            send_signal(pid, signal.SIGCONT, ticks=ticks)
    return f"processes {', '.join(map(str, pids))} were in state T for {PAUSE_SECONDS:.0f} s" if pids and still else ""


def _killed(driver: ProofDriver) -> str:
    """Kill the driver's own process and return the evidence; what it has started dies with it."""
    pids = driver.pids()
    if not pids:
        return ""
    send_signal(pids[0], signal.SIGKILL, ticks=start_ticks(pids[0]))
    ended = driver.wait_for_end(_DEATH_SECONDS)
    if not ended.dead or ended.exit_code != -signal.SIGKILL:
        return ""
    return f"process {pids[0]} of generation {driver.generation} is gone, with exit code {ended.exit_code}"


def _java(pids: Sequence[int]) -> int | None:
    for pid in pids:
        try:
            if psutil.Process(pid).name() == "java":
                return pid
        except psutil.Error:
            continue
    return None


def _is_paused(pids: Sequence[int]) -> bool:
    """Whether the driver's own process still lives, and stands still."""
    return bool(pids) and stat_fields(pids[0])[:1] == ["T"]


def _is_stopped(pid: int) -> bool:
    """Whether it does nothing; what the driver has started may have ended by itself."""
    return stat_fields(pid)[:1] in (["T"], ["Z"], [])


_STRIKES: Mapping[RequestedFault, Callable[[ProofDriver], str]] = {
    RequestedFault.KILL_DRIVER: _kill_driver,
    RequestedFault.KILL_JVM: _kill_jvm,
    RequestedFault.PAUSE_DRIVER: _pause_driver,
    RequestedFault.LOSE_CHECKPOINT: _lose_checkpoint,
}
