"""The warm engine over a real session: batches share its JVM, and nothing else."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from py4j.clientserver import ClientServer, JavaParameters
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from sluice.errors import NotReadyError
from sluice.launch.engine_client import EngineAddress, EngineClient
from sluice.launch.ports import HOST
from sluice.spark.session.engine_server import MAX_ATTACHED, EngineServer
from tests.twins.clock import ManualClock
from tests.waiting import eventually

TOKEN = "7d" * 32
IDLE = 600.0


@dataclass(frozen=True)
class Batch:
    process: subprocess.Popen[str]
    found: dict[str, Any]

    def ends(self) -> int:
        """Let it end, and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.close()
        return self.process.wait(60)


@dataclass(frozen=True)
class Engine:
    server: EngineServer
    thread: Thread
    clock: ManualClock
    client: EngineClient

    @contextmanager
    def batch(self, what: str = "counts") -> Iterator[Batch]:
        """Run a batch until the block ends."""
        argv = [sys.executable, str(Path(__file__).with_name("attached_batch.py")), str(self.server.port), TOKEN, what]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield Batch(process, json.loads(process.stdout.readline()))
            finally:
                with suppress(ProcessLookupError):
                    process.kill()


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    clock = ManualClock()
    server = EngineServer(spark, TOKEN, IDLE, clock)
    thread = Thread(target=server.serve)
    thread.start()
    yield Engine(server, thread, clock, EngineClient(EngineAddress(server.port, TOKEN, {}, "0")))
    server.drain()
    thread.join(60)
    assert not thread.is_alive()


def running(spark: SparkSession, batch: Batch) -> int:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(batch.found["group"])]
    return sum(job is not None and job.status == "RUNNING" for job in jobs)


def test_each_batch_has_a_session_and_settings_of_its_own_and_its_python_code(engine: Engine) -> None:
    with engine.batch() as first, engine.batch() as second:
        for batch in (first, second):
            assert (batch.found["views"], batch.found["shuffled"], batch.found["doubled"]) == ([], "7", [2, 4])
        assert first.found["group"] != second.found["group"]
        assert (first.ends(), second.ends()) == (0, 0)


def test_a_batch_gets_cores_beside_a_long_one_and_a_killed_one_takes_its_own_jobs_with_it(
    engine: Engine, spark: SparkSession
) -> None:
    with engine.batch("works") as killed:
        eventually(lambda: running(spark, killed) == 1)
        with engine.batch("works") as other:
            eventually(lambda: running(spark, other) == 1)
            killed.process.kill()
            killed.process.wait()
            engine.client.settle()
            assert (running(spark, killed), running(spark, other)) == (0, 1)
        eventually(lambda: running(spark, other) == 0)


def test_one_batch_too_many_is_refused_in_words_and_comes_in_when_there_is_room(engine: Engine) -> None:
    with engine.client.attached(), engine.client.attached(), engine.client.attached():
        with engine.client.attached():
            assert engine.client.status()["attached"] == MAX_ATTACHED
            with pytest.raises(NotReadyError, match=f"takes in no batch now: {MAX_ATTACHED} are in it"):
                engine.client.attached().__enter__()
        eventually(lambda: engine.client.status()["attached"] == MAX_ATTACHED - 1)
        with engine.client.attached():
            pass


def test_it_ends_when_no_batch_has_come_for_long_enough(engine: Engine) -> None:
    with engine.client.attached():
        engine.clock.sleep(2 * IDLE)
        assert engine.client.status()["idle_seconds"] == 0
    eventually(lambda: engine.client.status()["attached"] == 0)
    engine.clock.sleep(IDLE - 1)
    assert engine.client.status()["idle_seconds"] == IDLE - 1
    engine.clock.sleep(1)
    engine.thread.join(60)
    assert not engine.thread.is_alive()
    with pytest.raises(NotReadyError, match="does not answer"):
        engine.client.status()


def test_one_that_is_to_end_takes_in_nobody_and_waits_for_its_last_batch(engine: Engine) -> None:
    with engine.batch() as last:
        engine.client.drain()
        with pytest.raises(NotReadyError, match="it ends"):
            engine.client.attached().__enter__()
        assert engine.thread.is_alive()
        assert last.ends() == 0
    engine.thread.join(60)
    assert not engine.thread.is_alive()


def test_who_holds_no_token_gets_no_answer_and_no_door(engine: Engine) -> None:
    stranger = EngineClient(EngineAddress(engine.server.port, "00" * 32, {}, "0"))
    with pytest.raises(NotReadyError, match="is none"):
        stranger.attached().__enter__()
    with socket.create_connection((HOST, engine.server.port)), engine.client.attached() as door:  # the first is silent
        other = ClientServer(JavaParameters(port=door.port, auth_token="00" * 32))
        try:
            with pytest.raises(Py4JError):
                other.jvm.java.lang.System.currentTimeMillis()
        finally:
            other.shutdown()
    assert engine.client.status()["served"] == 1
