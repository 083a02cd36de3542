"""Ten thousand streams to be watched, without ten thousand drivers: what a watcher can see of them is real.

A project with as many specs, a control database with an attempt, desired states and older verdicts of each, a folder
per driver whose lock is held, a checkpoint per stream. One process holds all locks; it appends a record to every topic
once in a period and then commits a batch for each of its streams. What its processor time is, is not the watcher's.

Usage: python -m benchmarks.watching.watch_fleet <fleet as JSON>; takes commands on standard input, one JSON a line.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from fcntl import LOCK_EX
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from kafka import KafkaProducer
from sqlalchemy import insert

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.control.tables import attempt, desired_state, verdict
from sluice.launch.keeper import EXIT, LOCK, PID, START, start_ticks
from sluice.launch.processes import try_lock
from sluice.settings import StateFolder
from sluice.streams.life.identity import submission_key
from sluice.topics.administration import TopicCreation

DEPLOYMENT = "local"
GENERATION = 3
PAST_BATCHES = 4
PERIOD_SECONDS = 45.0
_PAST_SECONDS = 20
_TOPICS_AT_ONCE = 20

_TOPIC = """
name: {name}
description: One of many.
partitions: 1
retention: forever
value:
  format: json
  event_time: at
  arrival_time: at
  fields:
    at: {{type: timestamp, required: true}}
raw:
  table: {name}_raw
  driver: {name}_0
"""
_PIPELINE = """
name: {name}
description: One of many.
owner: nobody
source: {topic}
transform: same:same
time: {{allowed_lateness: 3 hours, future_skew: 60 minutes}}
outputs:
  - {{kind: intervals, table: {name}, time_column: hour, window: 1 hour, interval: hour, keys: [hour]}}
driver: {name}
trigger: 2 seconds
"""
_TRANSFORM = '''"""Gives what it is given."""

from pyspark.sql import DataFrame


def same(rows: DataFrame) -> DataFrame:
    """Return the rows."""
    return rows
'''
_DEPLOYMENT = """
name: local
description: A broker of the benchmark's own.
kafka: {{kind: external, bootstrap: [{bootstrap}]}}
replication: 1
"""


@dataclass(frozen=True)
class Fleet:
    """Topics with one partition; each is read by its raw stream and by pipelines, each with a driver of its own.

    Attributes:
        folder: holds the project and its state.
        bootstrap: the broker.
        prefix: of the topics' names.
        topics: how many.
        readers: streams per topic, the raw stream included.
        stalled: how many streams commit nothing although records arrive.
    """

    folder: str
    bootstrap: str
    prefix: str
    topics: int
    readers: int
    stalled: int = 0

    @property
    def home(self) -> Path:
        """The project."""
        return Path(self.folder) / "project"

    @property
    def state(self) -> StateFolder:
        """The state folder."""
        return StateFolder(Path(self.folder) / "state")

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs to find it."""
        return {"SLUICE_HOME": str(self.home), "SLUICE_STATE": str(self.state.root), "SLUICE_DEPLOYMENT": DEPLOYMENT}

    @property
    def topic_names(self) -> Sequence[str]:
        """All topics."""
        return [f"{self.prefix}{number:05}" for number in range(self.topics)]

    def units_of(self, topic: str) -> Sequence[str]:
        """Return the units that read a topic, the raw stream's first."""
        return [f"{topic}_{number}" for number in range(self.readers)]

    @property
    def units(self) -> Sequence[str]:
        """All units; each has one stream."""
        return [unit for topic in self.topic_names for unit in self.units_of(topic)]

    @property
    def stalled_units(self) -> Sequence[str]:
        """Those that commit nothing, evenly among all."""
        return self.units[:: max(1, len(self.units) // self.stalled)][: self.stalled] if self.stalled else []

    def stream_of(self, unit: str) -> str:
        """Return the unit's stream."""
        topic, _, number = unit.rpartition("_")
        return f"raw_{topic}" if number == "0" else unit


def build(fleet: Fleet) -> None:
    """Write specs, control database, drivers' folders and checkpoints, and create the topics."""
    with ThreadPoolExecutor(1) as pool:
        topics = pool.submit(_create_topics, fleet)  # the broker's work
        _write_specs(fleet)
        _write_records(fleet)
        now = time.time()
        for unit in fleet.units:
            _write_driver(fleet, unit)
            for batch in range(PAST_BATCHES):
                _commit(fleet, unit, batch, batch + 1, at=now - (PAST_BATCHES - batch) * _PAST_SECONDS)
        topics.result()


def _create_topics(fleet: Fleet) -> None:
    """Create the topics, with as many records as the past batches have read."""
    from sluice.kafka.administration import KafkaPythonAdministration  # noqa: PLC0415 - the fleet's process needs none

    with KafkaPythonAdministration((fleet.bootstrap,), patience_seconds=60) as administration:
        for some in _some(fleet.topic_names, 250):
            administration.create([TopicCreation(name, 1, 1) for name in some])
    with _producer(fleet) as producer:
        for _ in range(PAST_BATCHES):
            for topic in fleet.topic_names:
                producer.send(topic, b"{}", partition=0)
        producer.flush()


def _producer(fleet: Fleet) -> KafkaProducer:
    """Return a producer that asks for a topic's metadata, when it first writes to it, without a pause before that."""
    return KafkaProducer(bootstrap_servers=fleet.bootstrap, retry_backoff_ms=1)


def _write_specs(fleet: Fleet) -> None:
    include = fleet.home / "include"
    for name in ("topics", "pipelines", "deployments"):
        (include / name).mkdir(parents=True)
    transforms = fleet.home / "spark_jobs" / "transforms"
    transforms.mkdir(parents=True)
    (transforms / "same.py").write_text(_TRANSFORM, encoding="utf-8")
    fleet.state.root.mkdir()
    deployment = _DEPLOYMENT.format(bootstrap=f'"{fleet.bootstrap}"')
    (include / "deployments" / "local.yaml").write_text(deployment, encoding="utf-8")
    for topic in fleet.topic_names:
        (include / "topics" / f"{topic}.yaml").write_text(_TOPIC.format(name=topic), encoding="utf-8")
        for unit in fleet.units_of(topic)[1:]:
            text = _PIPELINE.format(name=unit, topic=topic)
            (include / "pipelines" / f"{unit}.yaml").write_text(text, encoding="utf-8")


def _write_records(fleet: Fleet) -> None:
    """Write what starts and restarts would have left: two attempts that ended, one that is bound."""
    engine = open_database(sqlite_url(fleet.state.control))
    migrate(engine)
    past = datetime.now(UTC) - timedelta(days=1)
    wishes, attempts, verdicts = [], [], []
    for unit in fleet.units:
        own = {"deployment": DEPLOYMENT, "unit": unit}
        asked = {"state": "running", "requested_by": "ada", "why": "it shall run", "at": past}
        wishes += [{**own, **asked, "why": f"{asked['why']}, {n}"} for n in range(2)]
        for generation in range(1, GENERATION + 1):
            bound = generation == GENERATION
            end = {"ended_at": None, "exit_code": None} if bound else {"ended_at": past, "exit_code": 0}
            said = {"state": "bound" if bound else "ended", "reason": "" if bound else "stopped on request"}
            key = submission_key(DEPLOYMENT, unit, generation)
            times = {"intended_at": past, "bound_at": past, "failure": None}
            attempts.append({**own, "generation": generation, "key": key, **times, **end, **said})
        given = {"generation": GENERATION - 1, "why": "It works.", "what_to_do": "", "batches": 3, "completeness": 1.0}
        history = enumerate(("UNKNOWN", "OK"), 1)
        stream = {**own, "stream": fleet.stream_of(unit), "at": past}
        verdicts += [{**stream, **given, "number": number, "health": health} for number, health in history]
    with engine.begin() as connection:
        connection.execute(insert(desired_state), wishes)
        connection.execute(insert(attempt), attempts)
        connection.execute(insert(verdict), verdicts)


def _write_driver(fleet: Fleet, unit: str) -> None:
    folder = fleet.state.drivers / submission_key(DEPLOYMENT, unit, GENERATION)
    folder.mkdir(parents=True)
    (folder / LOCK).touch()
    at = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    _write(folder / START, {"argv": ["driver"], "at": at})
    _write(folder / PID, {"pid": os.getpid(), "ticks": start_ticks(os.getpid()), "keeper": os.getpid(), "at": at})
    for log in ("offsets", "commits"):
        (fleet.state.checkpoint(fleet.stream_of(unit)) / log).mkdir(parents=True)


def _commit(fleet: Fleet, unit: str, batch: int, end: int, *, at: float | None = None) -> None:
    """Plan and commit a batch, as Spark writes that."""
    folder, topic = f"{fleet.state.checkpoint(fleet.stream_of(unit))}", unit.rpartition("_")[0]
    metadata = '{"batchWatermarkMs":1357000000000,"batchTimestampMs":1,"conf":{}}'
    plan = f'v1\n{metadata}\n{{"{topic}":{{"0":{end}}}}}'
    for log, text in (("offsets", plan), ("commits", 'v1\n{"nextBatchWatermarkMs":1357000000000}')):
        file = f"{folder}/{log}/{batch}"
        with open(f"{file}.tmp", "w", encoding="utf-8") as written:  # noqa: PTH123 - ten thousand of them a minute
            written.write(text)
        os.rename(f"{file}.tmp", file)  # noqa: PTH104 - the same
        if at is not None:
            os.utime(file, (at, at))


def _write(file: Path, record: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(record), encoding="utf-8")


def _some(names: Sequence[str], count: int) -> Iterator[Sequence[str]]:
    for begin in range(0, len(names), count):
        yield names[begin : begin + count]


class Crew:
    """Holds the drivers' locks and commits their batches."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._batches = dict.fromkeys(fleet.units, PAST_BATCHES)
        self._stalled = frozenset(fleet.stalled_units)
        self._locks = {unit: self._hold(unit) for unit in fleet.units}

    def kill(self, unit: str) -> float:
        """End a driver as its keeper does, the record first, then the lock; return when (seconds since the epoch)."""
        at = datetime.now(UTC)
        record = {"pid": os.getpid(), "exit_code": -9, "at": at.isoformat()}
        _write(self._driver(unit) / EXIT, record)
        os.close(self._locks.pop(unit))
        return at.timestamp()

    def rounds(self, producer: KafkaProducer) -> Iterator[int]:
        """Append a record to some topics, commit it in each of their streams, and pause; again and again.

        Yields, in each pause, how often that was done for all.
        """
        parts = list(_some(self._fleet.topic_names, _TOPICS_AT_ONCE))
        for done in count():
            begun, end = time.monotonic(), PAST_BATCHES + done + 1
            for number, topics in enumerate(parts, 1):
                for sent in [producer.send(topic, b"{}", partition=0) for topic in topics]:
                    sent.get(30)
                for unit in (unit for topic in topics for unit in self._fleet.units_of(topic)):
                    if unit in self._locks and unit not in self._stalled:
                        _commit(self._fleet, unit, self._batches[unit], end)
                        self._batches[unit] += 1
                while time.monotonic() < begun + number * PERIOD_SECONDS / len(parts):
                    yield done

    def _hold(self, unit: str) -> int:
        lock = os.open(self._driver(unit) / LOCK, os.O_RDWR | os.O_CLOEXEC)
        assert try_lock(lock, LOCK_EX), f"somebody else holds the lock of {unit}"
        return lock

    def _driver(self, unit: str) -> Path:
        return self._fleet.state.drivers / submission_key(DEPLOYMENT, unit, GENERATION)


def as_text(fleet: Fleet) -> str:
    """Return a fleet for a command line."""
    return json.dumps(asdict(fleet))


def main(arguments: Sequence[str]) -> int:
    """Live until the standard input closes; kill whom it names."""
    fleet = Fleet(**json.loads(arguments[0]))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    crew, commands = Crew(fleet), SimpleQueue[str | None]()
    Thread(target=_read_commands, args=(commands,), daemon=True).start()
    ready = False
    with _producer(fleet) as producer:
        for done in crew.rounds(producer):
            if done and not ready:  # they are like streams that have run for a while
                ready = True
                print(json.dumps({"ready": len(fleet.units)}), flush=True)
            try:
                command = commands.get(timeout=0.05)
            except Empty:
                continue
            if command is None:
                break
            print(json.dumps({"killed": command, "at": crew.kill(command)}), flush=True)
    return 0


def _read_commands(commands: SimpleQueue[str | None]) -> None:
    for line in sys.stdin:
        commands.put(line.strip())
    commands.put(None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
