"""The process of a warm engine: at most one, found, stopped and numbered. What it does inside is a stand-in."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.errors import NotReadyError
from sluice.launch.engine import WarmEngine
from sluice.launch.engine_client import EngineClient
from sluice.streams.life.launcher import Job
from tests.waiting import eventually

STAND_IN = """
import json, signal, sys
from multiprocessing.connection import Listener
from pathlib import Path
from sluice.launch.engine_client import EngineAddress
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
listener = Listener(("127.0.0.1", 0), authkey=b"token")
EngineAddress(listener.address[1], "token", {"a": "1"}, "0").write(Path(sys.argv[1]))
while True:
    with listener.accept() as connection:
        connection.recv_bytes()
        connection.send_bytes(json.dumps({"attached": 0}).encode())
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[WarmEngine]:
    engine = WarmEngine(tmp_path / "engines")
    yield engine
    engine.kill()


def stand_in(folder: Path) -> Job:
    return Job((sys.executable, "-c", STAND_IN, str(folder)), {"PYTHONPATH": os.pathsep.join(sys.path)})


def answering(engine: WarmEngine) -> EngineClient:
    eventually(lambda: engine.client() is not None)
    client = engine.client()
    assert client is not None
    return client


def test_where_none_lives_nobody_attaches_and_nothing_is_to_be_settled(engine: WarmEngine) -> None:
    assert (engine.living(), engine.client()) == (None, None)
    engine.settle()
    with pytest.raises(NotReadyError, match="no warm engine lives"):
        engine.attached().__enter__()


def test_one_lives_at_most_and_the_next_has_the_next_number(engine: WarmEngine, tmp_path: Path) -> None:
    first = engine.start(stand_in)
    assert engine.start(stand_in).pid == first.pid
    assert answering(engine).status() == {"attached": 0}
    assert (tmp_path / "engines" / first.key / "engine.json").stat().st_mode & 0o077 == 0
    for _ in range(3):
        engine.stop()
        assert engine.living() is None
        engine.start(stand_in)
    assert sorted(folder.name for folder in (tmp_path / "engines").iterdir()) == ["engine-2", "engine-3", "engine-4"]


def test_one_that_says_nothing_is_ended_before_a_batch_trusts_that_nothing_of_a_dead_one_goes_on(
    engine: WarmEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.launch.engine_client._ANSWER_SECONDS", 0.5)
    asleep = engine.start(stand_in)
    answering(engine)
    assert asleep.pid is not None
    os.kill(asleep.pid, signal.SIGSTOP)
    engine.settle()
    assert engine.living() is None


def test_one_that_dies_while_it_starts_is_said_to_be_dead(engine: WarmEngine) -> None:
    engine.start(lambda _: Job((sys.executable, "-c", "raise SystemExit(3)")))
    with pytest.raises(NotReadyError, match="no warm engine lives"):
        engine.attached().__enter__()
