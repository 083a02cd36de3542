"""Three brokers in racks, a Spark cluster and a driver, each on a host of its own, and what records become there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from benchmarks.machines.fault_sender import is_bad
from benchmarks.machines.hosts import Hosts
from benchmarks.project_copy import own_project
from benchmarks.trials import TrialError
from sluice.clock import SystemClock
from sluice.delta.reading import dataset_of, read_rows
from sluice.devstack.spark_cluster import MASTER, SparkCluster
from sluice.errors import SluiceError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.master import read_capacity
from sluice.launch.ports import HOST
from sluice.launch.processes import descendants, wait_until
from sluice.settings import settings
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation

BROKERS, WORKERS, DRIVER, MASTER_HOST = ("k1", "k2", "k3"), ("w1", "w2"), "d1", "m1"
NAMES = (*BROKERS, *WORKERS, MASTER_HOST, DRIVER)
TOPIC, TABLE = "readings", "kept_readings"
_CLIENTS, _CONTROLLER, _MASTER_PORT, _PAGE_PORT = 9092, 9093, 7077, 8081
_READY_SECONDS = 120.0
_CAUGHT_UP_SECONDS = 180.0
_EXECUTOR = b"CoarseGrainedExecutorBackend"
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"

_ROOM_FOR_TWO_DRIVERS = {"--cores": "2", "--memory": "2g"}
"""Of a worker: a frozen driver keeps its executors, and another one takes over beside it."""

_PROPERTIES = """\
process.roles=broker,controller
node.id={number}
broker.rack=rack-{number}
controller.quorum.voters={voters}
listeners=CLIENTS://{address}:9092,CONTROLLER://{address}:9093
advertised.listeners=CLIENTS://{address}:9092
listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENTS
log.dirs={data}
auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=1
replica.lag.time.max.ms=6000
broker.session.timeout.ms=6000
num.network.threads=1
num.io.threads=2
log.cleaner.dedupe.buffer.size=8388608
log.segment.bytes=16777216
"""
_TOPIC_SPEC = """\
name: readings
description: What is sent while hosts and networks fail.
partitions: 3
retention: forever
value:
  event_time: measured_at
  arrival_time: sent_at
  event_id: [id]
  fields:
    id: {type: long, required: true, minimum: 0}
    level: {type: long, required: true, minimum: 0, maximum: 100}
    measured_at: {type: timestamp, required: true}
    sent_at: {type: timestamp, required: true}
raw: {table: readings_raw, driver: readings}
"""
_PIPELINE_SPEC = """\
name: kept_readings
description: Each sound reading, once.
source: readings
transform: kept_readings.sql
time: {allowed_lateness: 1 hour, future_skew: 10 minutes}
outputs:
  - {kind: rows, table: kept_readings}
driver: readings
trigger: 1 second
resources: {cores: 2, driver_memory: 700m, executor_memory: 512m, executor_cores: 1}
"""


@dataclass
class FaultCluster:
    """All of it, and the processes by the names of their components.

    Attributes:
        folder: where it is.
        hosts: on which.
        generation: of the newest driver.
        exits: how each driver has ended, by its generation.
    """

    folder: Path
    hosts: Hosts
    generation: int = 0
    exits: dict[int, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def bootstrap(self) -> list[str]:
        """The brokers' addresses."""
        return [f"{self.hosts.address(name)}:{_CLIENTS}" for name in BROKERS]

    @property
    def state(self) -> Path:
        """The state folder, with tables and checkpoints."""
        return self.folder / "state"

    def data(self, broker: str) -> Path:
        """Return the folder of a broker's records."""
        return self.folder / broker / "data"

    def prepare(self) -> None:
        """Write what all of them are configured by, and format the brokers' folders."""
        voters = ",".join(f"{number}@{self.hosts.address(name)}:{_CONTROLLER}" for number, name in _numbered())
        for number, name in _numbered():
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            said = {"number": number, "address": self.hosts.address(name), "voters": voters, "data": self.data(name)}
            (self.folder / name / "properties").write_text(_PROPERTIES.format(**said), encoding="utf-8")
            format_ = ["kafka.tools.StorageTool", "format", f"--cluster-id={_CLUSTER_ID}"]
            arguments = _java("128m", *format_, f"--config={self.folder / name / 'properties'}")
            subprocess.run(arguments, check=True, capture_output=True)
        own_project(
            self.folder / "project",
            {
                "include/topics/readings.yaml": _TOPIC_SPEC,
                "include/pipelines/kept_readings.yaml": _PIPELINE_SPEC,
                "spark_jobs/transforms/kept_readings.sql": "SELECT id, level, measured_at FROM readings\n",
                "include/deployments/local.yaml": json.dumps(self._deployment()),
            },
        )
        self._cluster.prepare(forget=True)

    def start_all(self) -> None:
        """Start brokers, cluster and driver, and return when the first record has come through."""
        for name in (*BROKERS, MASTER):
            self.start(name)
        self.wait(self._brokers_answer, "the brokers answer", _READY_SECONDS)
        with self._administration() as administration:
            administration.create([TopicCreation(TOPIC, 3, 3, {"min.insync.replicas": "2"})])
        for name in self._cluster.worker_names:
            self.start(name)
        self.wait(lambda: self._cluster_page() >= len(WORKERS), "the workers are registered", _READY_SECONDS)
        self.start_driver()

    def start(self, name: str) -> None:
        """Start a broker, the master or a worker."""
        host, command = self._component(name)
        self._launch(name, self.hosts.on(host, *command))

    def kill(self, name: str) -> str:
        """End a component as a power cut does; return the proof."""
        process = self.processes.pop(name)
        process.kill()
        return f"process {process.pid} ended with {process.wait(20)}"

    def start_driver(self) -> None:
        """Start a driver of the next generation; the last one may live."""
        self.generation += 1
        main = self.folder / "project" / "spark_jobs" / "stream.py"
        words = [sys.executable, str(main), "--unit", "readings", "--generation", str(self.generation)]
        self._launch(self.driver_name, self.hosts.on(DRIVER, *words))

    @property
    def driver_name(self) -> str:
        """The newest driver's name among the components."""
        return f"driver-{self.generation}"

    @property
    def driver(self) -> subprocess.Popen[bytes]:
        """The newest driver."""
        return self.processes[self.driver_name]

    def signal_driver(self, name: str, number: signal.Signals) -> None:
        """Signal a driver with its JVM and its workers."""
        os.killpg(self.processes[name].pid, number)

    def leader_and_follower(self) -> tuple[str, str]:
        """Return the brokers of the topic's first partition: who leads it, and one that copies."""
        with self._administration() as administration:
            state = administration.describe([TOPIC])[TOPIC]
        leader = state.leaders[0]
        names = dict(_numbered())
        follower = next(number for number in state.replicas[0] if number != leader)
        assert leader is not None, "wait_caught_up has seen all partitions led"
        return names[leader], names[follower]

    def jvm(self) -> int:
        """Return the process of the driver's JVM."""
        return next(pid for pid in descendants(self.driver.pid) if b"/java\0" in _command(pid)[:200])

    def executors(self, worker: str) -> list[int]:
        """Return the processes of the executors that a worker runs."""
        return [pid for pid in descendants(self.processes[worker].pid) if _EXECUTOR in _command(pid)]

    def keep_driver(self) -> None:
        """Do what the reconciler does: where the newest driver has ended in a way that is tried again, start the next.

        Raises:
            TrialError: it has ended in another way.
        """
        if (code := self.driver.poll()) is None:
            return
        self.exits[self.generation] = code
        retried = {ExitCode.TRANSIENT, ExitCode.JVM_LOST, ExitCode.FAILED, ExitCode.DISK_FULL, ExitCode.OUT_OF_MEMORY}
        if code >= 0 and code not in retried:
            raise TrialError(f"driver {self.generation} ended with {ExitCode(code).name}: {self.log(self.driver_name)}")
        self.start_driver()

    def wait_caught_up(self) -> None:
        """Wait until all that the topic holds now is in the raw table; more may come meanwhile."""
        ends: list[int] = []

        def known() -> bool:
            with suppress(SluiceError), self._administration() as administration:
                ends.append(sum(administration.ends(TOPIC).values()))
            return bool(ends)

        def read() -> bool:
            self.keep_driver()
            return self._count("readings_raw") >= ends[0]

        self.wait(known, "the brokers say what the topic holds", _CAUGHT_UP_SECONDS)
        self.wait(read, f"{ends} records are read", _CAUGHT_UP_SECONDS)

    def wait_all_kept(self) -> None:
        """Wait until the output has as many rows as the topic has sound records, after nothing is sent any more."""
        self.wait_caught_up()
        sound = sum(not is_bad(number) for number in self.in_topic().values())

        def kept() -> bool:
            self.keep_driver()
            return self._count(TABLE) >= sound

        self.wait(kept, f"the output has {sound} rows", _CAUGHT_UP_SECONDS)

    def wait(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait until something holds.

        Raises:
            TrialError: it does not in time.
        """
        if not wait_until(condition, SystemClock(), deadline_seconds=seconds):
            raise TrialError(f"not within {seconds:.0f} s: {what}. The driver: {self.log(self.driver_name)}")

    def log(self, name: str) -> str:
        """Return the end of a component's output."""
        return self.whole_log(name)[-3000:]

    def whole_log(self, name: str) -> str:
        """Return all that a component has put out."""
        file = self.folder / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def end(self) -> None:
        """End everything."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def in_topic(self) -> dict[tuple[int, int], int]:
        """Return the number of each record that the topic holds, by partition and offset, as any consumer reads it."""
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
        partitions = [TopicPartition(TOPIC, number) for number in range(3)]
        ends, found = consumer.end_offsets(partitions), {}
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        while any(consumer.position(each) < ends[each] for each in partitions):
            for batch in consumer.poll(timeout_ms=500).values():
                found |= {(each.partition, each.offset): json.loads(each.value)["id"] for each in batch}
        consumer.close()
        return found

    def in_raw_table(self) -> list[tuple[int, int]]:
        """Return partition and offset of each record in the raw table."""
        rows = read_rows(self.state / "tables" / "readings_raw")
        return list(zip(rows.column("partition").to_pylist(), rows.column("offset").to_pylist(), strict=True))

    def kept(self) -> list[int]:
        """Return the numbers in the output table."""
        found: list[int] = read_rows(self.state / "tables" / TABLE).column("id").to_pylist()
        return found

    def _launch(self, name: str, command: Sequence[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            environment = {**os.environ, **self._variables()}  # noqa: TID251  a child inherits it
            self.processes[name] = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def _component(self, name: str) -> tuple[str, Sequence[str]]:
        """Return host and command of a component; the cluster's stand for the loopback interface."""
        if name in BROKERS:
            return name, _java("256m", "kafka.Kafka", str(self.folder / name / "properties"))
        words, master = list(self._cluster.commands()[name]), self.hosts.address(MASTER_HOST)
        host = MASTER_HOST
        if name != MASTER:
            host = WORKERS[self._cluster.worker_names.index(name)]
            for size, room in _ROOM_FOR_TWO_DRIVERS.items():
                words[words.index(size) + 1] = room
        found = [word.replace(f"{HOST}:{_MASTER_PORT}", f"{master}:{_MASTER_PORT}") for word in words]
        return host, [word.replace(HOST, self.hosts.address(host)) for word in found]

    def _deployment(self) -> dict[str, Any]:
        master = self.hosts.address(MASTER_HOST)
        return {
            "name": "local",
            "kafka": {"kind": "external", "bootstrap": self.bootstrap},
            "spark": {"master": f"spark://{master}:{_MASTER_PORT}", "page": f"http://{master}:{_PAGE_PORT}"},
            "replication": 3,
        }

    def _variables(self) -> Mapping[str, str]:
        return {
            "SLUICE_HOME": str(self.folder / "project"),
            "SLUICE_STATE": str(self.state),
            "SLUICE_JARS": str(settings().jars),
            "SPARK_LOCAL_IP": self.hosts.address(DRIVER),
        }

    @property
    def _cluster(self) -> SparkCluster:
        return SparkCluster(self.folder / "spark", _MASTER_PORT, _PAGE_PORT, len(WORKERS))

    def _cluster_page(self) -> int:
        try:
            return len(read_capacity(f"http://{self.hosts.address(MASTER_HOST)}:{_PAGE_PORT}").workers)
        except SluiceError:
            return -1

    def _brokers_answer(self) -> bool:
        try:
            with self._administration() as administration:
                return len(administration.brokers()) == len(BROKERS)
        except SluiceError:
            return False

    def _administration(self) -> KafkaPythonAdministration:
        return KafkaPythonAdministration(self.bootstrap, {}, patience_seconds=5)

    def _count(self, table: str) -> int:
        folder = self.state / "tables" / table
        return dataset_of(folder).count_rows() if (folder / "_delta_log").is_dir() else 0


def _numbered() -> list[tuple[int, str]]:
    return list(enumerate(BROKERS, start=1))


def _java(heap: str, *arguments: str) -> list[str]:
    options = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java", *options, "-cp", f"{settings().jars / 'kafka'}/*", *arguments]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
