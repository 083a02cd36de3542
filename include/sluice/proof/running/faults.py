"""Faults that strike the driver of a proof, or the broker of a local stack, each with evidence that it did."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import psutil

from sluice.clock import Clock
from sluice.errors import RefusedError
from sluice.launch.keeper import start_ticks, stat_fields
from sluice.launch.processes import lives, send_signal, wait_until
from sluice.proof.observations import FiredFault
from sluice.proof.running.driver import ProofDriver
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka

_DEATH_SECONDS, _STILL_SECONDS, PAUSE_SECONDS, _WAKER_SECONDS = 60.0, 10.0, 5.0, 5.0


class RequestedFault(StrEnum):
    """What may be requested."""

    KILL_DRIVER = "kill-driver"
    KILL_JVM = "kill-jvm"
    PAUSE_DRIVER = "pause-driver"
    LOSE_CHECKPOINT = "lose-checkpoint"
    PAUSE_BROKER = "pause-broker"


SHARED = frozenset({RequestedFault.PAUSE_BROKER})
"""Faults that strike what is not the proof's own."""


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


def refuse_shared_faults(kafka: EmbeddedKafka | ExternalKafka, faults: Sequence[RequestedFault]) -> None:
    """Make sure that the deployment allows the faults that strike more than the proof's own driver.

    Raises:
        RefusedError: it does not.
    """
    shared = [fault for fault in faults if fault in SHARED]
    if not shared:
        return
    if not isinstance(kafka, EmbeddedKafka):
        raise RefusedError(
            f"{shared[0]} stops processes of a broker on this machine, and the deployment's Kafka is a cluster that "
            "Sluice does not run.",
            fix="prove without it, or in a deployment with `kafka: {kind: embedded}`.",
        )
    if not kafka.may_pause:
        raise RefusedError(
            f"{shared[0]} stops the broker for some seconds, which all streams of the deployment meet, and it does not "
            "allow that.",
            fix="write `may_pause: true` below `kafka` in the deployment's spec, or prove without this fault.",
        )


def _pause_driver(driver: ProofDriver) -> str:
    return _paused(driver.pids(), driver.clock)


def _pause_broker(driver: ProofDriver) -> str:
    return _paused(_listening(driver.bootstrap), driver.clock)


def _listening(addresses: Sequence[str]) -> Sequence[int]:
    """Return our processes on this machine that listen at these addresses."""
    ports = {int(address.rpartition(":")[2]) for address in addresses}
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            listens = any(each.status == psutil.CONN_LISTEN and each.laddr.port in ports for each in _tcp(process))
        except psutil.Error:  # it is gone, or another user's
            continue
        if listens:
            found.append(process.pid)
    return found


def _tcp(process: psutil.Process) -> Sequence[Any]:
    found: Sequence[Any] = process.net_connections("tcp")
    return found


def _paused(pids: Sequence[int], clock: Clock) -> str:
    """Let processes stand still for a while and return the evidence. They are woken also if this process dies."""
    known = {pid: start_ticks(pid) for pid in pids}
    waker = _waker(pids, PAUSE_SECONDS + _STILL_SECONDS + _WAKER_SECONDS)
    try:
        for pid, ticks in known.items():
            send_signal(pid, signal.SIGSTOP, ticks=ticks)
        still = wait_until(lambda: all(map(_is_stopped, pids)), clock, deadline_seconds=_STILL_SECONDS)
        clock.sleep(PAUSE_SECONDS)
        still = still and all(map(_is_stopped, pids)) and _is_paused(pids)
    finally:
        for pid, ticks in known.items():
            send_signal(pid, signal.SIGCONT, ticks=ticks)
        waker.kill()
        waker.wait()
    return f"processes {', '.join(map(str, pids))} were in state T for {PAUSE_SECONDS:.0f} s" if pids and still else ""


def _waker(pids: Sequence[int], seconds: float) -> subprocess.Popen[bytes]:
    """Start a process that wakes others after a while. It outlives this one, whatever ends it."""
    wake = f"sleep {seconds:g}; kill -CONT {' '.join(map(str, pids))}" if pids else "exit 0"
    return subprocess.Popen(["/bin/sh", "-c", wake], stdin=subprocess.DEVNULL, start_new_session=True)


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
    RequestedFault.PAUSE_BROKER: _pause_broker,
}
