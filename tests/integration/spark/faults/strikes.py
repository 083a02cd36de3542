"""Faults that strike a live stream: each is made, is ended if it does not end by itself, and says what shows it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import psutil
import pytest
from kafka.producer.future import FutureRecordMetadata

from sluice.errors import UnreachableError
from sluice.launch.processes import descendants
from sluice.streams.life.launcher import DriverReport
from tests.integration.spark.conftest import BAD_VALUES
from tests.integration.spark.faults.live_stream import DEADLINE_SECONDS, LiveStream
from tests.waiting import eventually

PAIRS = 2
"""How many pairs a schedule has, one after the other on one stream."""
SILENT_SECONDS = 30.0
"""So long brokers say nothing, at least."""


class Strike(ABC):
    """A fault of a stream.

    Attributes:
        row: of the matrix.
        ends_first: whether it must end before others can.
    """

    row: ClassVar[str]
    ends_first: ClassVar[bool] = False

    def __init__(self, stream: LiveStream) -> None:
        self._stream = stream

    @abstractmethod
    def strike(self) -> None:
        """Let it happen."""

    def end(self) -> None:  # noqa: B027 - most end by themselves
        """Undo what nobody else undoes."""

    @abstractmethod
    def evidence(self) -> str:
        """Return what shows that it happened; asked for after its end."""


class DriverKilled(Strike):
    """SIGKILL to a driver and all that it has started."""

    row = "driver-killed"

    def strike(self) -> None:
        self._killed = self._stream.launcher.kill(self._stream.running().key)

    def evidence(self) -> str:
        return died_of_a_signal(self._killed)


def died_of_a_signal(killed: DriverReport) -> str:
    """Return what a keeper has recorded of a killed driver."""
    assert killed.dead
    assert killed.exit_code == -signal.SIGKILL
    return f"{killed.key} ended with the exit code {killed.exit_code}"


class JvmKilled(Strike):
    """SIGKILL to the JVM of a driver."""

    row = "jvm-killed"

    def strike(self) -> None:
        self._driver = self._stream.running()
        self._stream.eventually(lambda: bool(self._javas()), "its JVM is there")
        self._pid = self._javas()[0]
        os.kill(self._pid, signal.SIGKILL)

    def _javas(self) -> list[int]:
        assert self._driver.pid is not None
        return [pid for pid in descendants(self._driver.pid) if _name(pid) == "java"]

    def evidence(self) -> str:
        self._stream.eventually(
            lambda: self._stream.launcher.find(self._driver.key).dead, f"{self._driver.key} has ended"
        )
        code = self._stream.launcher.find(self._driver.key).exit_code
        return f"Java with the process id {self._pid} was killed, and {self._driver.key} ended with {code}"


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class CheckpointLost(Strike):
    """A driver is killed, and all its checkpoints are removed before the next one starts."""

    row = "checkpoint-damaged"

    def strike(self) -> None:
        checkpoints = self._stream.place.state / "checkpoints"
        self._stream.running()
        with self._stream.reconciler.held():
            self._killed = self._stream.launcher.kill(self._stream.report().key)
            self._commits = len(list(checkpoints.rglob("commits/[0-9]*")))
            shutil.rmtree(checkpoints, ignore_errors=True)
            assert not checkpoints.exists()

    def evidence(self) -> str:
        return f"{died_of_a_signal(self._killed)}, and {self._commits} commits of checkpoints are gone"


class BrokerKilled(Strike):
    """SIGKILL to a broker that leads half of the partitions."""

    row = "broker-killed"

    def __init__(self, stream: LiveStream, number: int = 2) -> None:
        super().__init__(stream)
        self._number = number

    def strike(self) -> None:
        self._process: subprocess.Popen[bytes] = self._stream.cluster.processes[self._number]
        self._stream.cluster.kill(self._number)

    def end(self) -> None:
        self._stream.cluster.start(self._number)

    def evidence(self) -> str:
        assert self._process.returncode == -signal.SIGKILL
        return f"broker {self._number} with the process id {self._process.pid} ended with {self._process.returncode}"


class KafkaSilent(Strike):
    """SIGSTOP to all brokers: their connections stay open, and nothing answers on them."""

    row = "kafka-silent"
    ends_first = True

    def strike(self) -> None:
        stopped = self._stream.cluster.processes
        for process in stopped.values():
            process.send_signal(signal.SIGSTOP)
        self._since = time.monotonic()
        pids = [process.pid for process in stopped.values()]
        eventually(lambda: all(psutil.Process(pid).status() == psutil.STATUS_STOPPED for pid in pids))
        self._pids = pids

    def end(self) -> None:
        eventually(lambda: time.monotonic() - self._since > SILENT_SECONDS, "they were silent for long enough")
        for process in self._stream.cluster.processes.values():
            process.send_signal(signal.SIGCONT)

    def evidence(self) -> str:
        return f"{len(self._pids)} brokers were in state T for {SILENT_SECONDS:g} s"


class RecordsLocked(Strike):
    """Somebody holds the control database's lock, so nobody can record anything."""

    row = "records-silent"

    def strike(self) -> None:
        self._holder = sqlite3.connect(self._stream.project.folder.control, isolation_level=None)
        self._holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnreachableError) as refused:
            self._stream.life.start("a test", "while nothing can be recorded")
        self._said = refused.value.message

    def end(self) -> None:
        self._holder.execute("ROLLBACK")
        self._holder.close()

    def evidence(self) -> str:
        return f"a start was refused: {self._said}"


class PoisonSent(Strike):
    """Records that nobody can read, as bytes that no decoder takes, and one of nearly a megabyte."""

    row = "poison-records"

    def strike(self) -> None:
        poison = [*BAD_VALUES.values(), random.Random(0).randbytes(500), b"{" * 900_000]
        self._sent: list[FutureRecordMetadata] = [self._stream.feed.send_value(b"poison", value) for value in poison]

    def evidence(self) -> str:
        offsets = [future.get(DEADLINE_SECONDS).offset for future in self._sent]
        return f"{len(offsets)} records that nobody can read are in the topic, the first one at {offsets[0]}"


KINDS: Sequence[type[Strike]] = (
    DriverKilled,
    JvmKilled,
    CheckpointLost,
    BrokerKilled,
    KafkaSilent,
    RecordsLocked,
    PoisonSent,
)


def schedule(seed: int) -> list[list[type[Strike]]]:
    """Return pairs of faults of different rows, the same for the same seed."""
    draw = random.Random(seed)
    pairs = draw.sample(list(combinations(KINDS, 2)), PAIRS)
    return [draw.sample(pair, 2) for pair in pairs]
