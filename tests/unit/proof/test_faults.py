"""Faults strike real processes and leave evidence; what could not strike leaves none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.errors import NotReadyError, RefusedError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.keeper import start_ticks, stat_fields
from sluice.launch.processes import lives, wait_until
from sluice.project.project import Project
from sluice.proof.running import faults
from sluice.proof.running.driver import ProofDriver
from sluice.proof.running.faults import RequestedFault, refuse_shared_faults, strike
from sluice.settings import Settings, settings
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka

DRIVER = """
import os, signal, subprocess, sys
java = os.path.join(os.path.dirname(__file__), "java")
os.path.exists(java) or os.symlink("/bin/cat", java)
child = subprocess.Popen([java], stdin=subprocess.PIPE)
signal.signal(signal.SIGTERM, lambda *_: (child.kill(), sys.exit(0)))
child.wait()
sys.exit(9)
"""
"""Like a driver, as far as its process goes: it has a child that is called `java`, and each ends with the other."""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProofDriver]:
    monkeypatch.setattr(faults, "PAUSE_SECONDS", 0.2)
    home = tmp_path / "home"
    (home / "spark_jobs").mkdir(parents=True)
    (home / "include").symlink_to(settings().home / "include")
    (home / "spark_jobs" / "stream.py").write_text(DRIVER, encoding="utf-8")
    place = Settings(home=home, state=tmp_path / "state", spark_master="local")
    write_endpoints(place.folder, Endpoints(("localhost:1",), airflow_url=""))
    project = Project.open_strict(place)
    started = ProofDriver(project, project.catalog.unit("flights"))
    started.start()
    ready(started)
    yield started
    started.kill()


def ready(driver: ProofDriver) -> tuple[int, ...]:
    """Wait until it has its child, and return both."""
    assert wait_until(lambda: len(driver.pids()) > 1, SystemClock(), deadline_seconds=30)
    return tuple(driver.pids())


def test_a_killed_driver_is_gone_and_the_next_generation_runs(driver: ProofDriver) -> None:
    before = ready(driver)[0]
    ticks = start_ticks(before)
    fault = strike(RequestedFault.KILL_DRIVER, driver)
    assert fault.evidence == f"process {before} of generation 1 is gone, with exit code -9"
    assert not lives(before, ticks=ticks)
    assert (driver.generation, fault.healed) == (2, False)
    assert ready(driver)[0] != before


def test_a_killed_jvm_takes_its_driver_with_it(driver: ProofDriver) -> None:
    java = ready(driver)[1]
    fault = strike(RequestedFault.KILL_JVM, driver)
    assert fault.evidence == f"Java process {java} of generation 1 is gone; the driver ended with exit code 9"
    assert driver.generation == 2


def test_a_paused_driver_stands_still_and_goes_on(driver: ProofDriver) -> None:
    pids = ready(driver)
    fault = strike(RequestedFault.PAUSE_DRIVER, driver)
    assert fault.evidence.startswith(f"processes {', '.join(map(str, pids))} were in state T")
    assert tuple(driver.pids()) == pids
    assert driver.generation == 1


def test_a_driver_that_dies_in_its_pause_was_not_paused(driver: ProofDriver) -> None:
    own = ready(driver)[0]

    def kill() -> None:
        assert wait_until(lambda: stat_fields(own)[:1] == ["T"], SystemClock(), deadline_seconds=20)
        os.kill(own, signal.SIGKILL)

    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill)
        assert strike(RequestedFault.PAUSE_DRIVER, driver).evidence == ""
        killed.result()


def test_a_lost_checkpoint_was_there(driver: ProofDriver, tmp_path: Path) -> None:
    ready(driver)
    without = strike(RequestedFault.LOSE_CHECKPOINT, driver)
    assert without.evidence == ""  # there was none to lose
    ready(driver)
    (tmp_path / "state" / "checkpoints" / "departures" / "offsets").mkdir(parents=True)
    fault = strike(RequestedFault.LOSE_CHECKPOINT, driver)
    assert fault.evidence.endswith("the checkpoints departures were there and are gone")
    assert list((tmp_path / "state" / "checkpoints").iterdir()) == []


BROKER = """
import socket, sys
place = socket.create_server(("127.0.0.1", 0))
print(place.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def broker() -> Iterator[tuple[int, str]]:
    """A process that listens like a broker: its pid and address."""
    command = [sys.executable, "-c", BROKER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, f"127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate("")


def test_a_paused_broker_stands_still_and_goes_on(
    driver: ProofDriver, broker: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, address = broker
    monkeypatch.setattr(ProofDriver, "bootstrap", (address,))
    before = driver.pids()
    fault = strike(RequestedFault.PAUSE_BROKER, driver)
    assert fault.evidence.startswith(f"processes {pid} were in state T")
    assert stat_fields(pid)[:1] != ["T"]
    assert driver.pids() == before


def test_a_paused_process_wakes_up_though_the_proof_has_died(broker: tuple[int, str]) -> None:
    pid, _ = broker
    os.kill(pid, signal.SIGSTOP)
    assert wait_until(lambda: stat_fields(pid)[:1] == ["T"], SystemClock(), deadline_seconds=20)
    with faults._waker([pid], 0.1) as waker:
        assert wait_until(lambda: stat_fields(pid)[:1] != ["T"], SystemClock(), deadline_seconds=20)
        assert os.getsid(waker.pid) == waker.pid


@pytest.mark.parametrize(
    ("kafka", "words"),
    [
        (ExternalKafka(kind="external", bootstrap=("kafka:9092",)), "a cluster that Sluice does not run"),
        (EmbeddedKafka(), "it does not allow that"),
        (EmbeddedKafka(may_pause=True), ""),
    ],
)
def test_a_broker_is_paused_only_where_the_deployment_allows_it(
    kafka: EmbeddedKafka | ExternalKafka, words: str
) -> None:
    own = [fault for fault in RequestedFault if fault is not RequestedFault.PAUSE_BROKER]
    refuse_shared_faults(kafka, own)
    if not words:
        refuse_shared_faults(kafka, list(RequestedFault))
        return
    with pytest.raises(RefusedError, match=words):
        refuse_shared_faults(kafka, [RequestedFault.PAUSE_BROKER])


@pytest.mark.parametrize("fault", RequestedFault)
def test_what_finds_no_driver_has_no_evidence(driver: ProofDriver, fault: RequestedFault) -> None:
    os.kill(ready(driver)[0], signal.SIGTERM)
    driver.wait_for_end(30)
    assert strike(fault, driver).evidence == ""


def test_a_driver_that_dies_by_itself_ends_the_proof(driver: ProofDriver) -> None:
    driver.refuse_dead()
    os.kill(ready(driver)[1], signal.SIGKILL)
    driver.wait_for_end(30)
    with pytest.raises(NotReadyError, match="generation 1 of the driver ended with exit code 9"):
        driver.refuse_dead()
