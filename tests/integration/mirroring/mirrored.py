"""Two brokers, and a project whose mirror copies `flights` from one to the other."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaProducer

from sluice.clock import SystemClock
from sluice.devstack.kafka.admin import administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.kafka.security import store_security
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.connection import client_arguments
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.project.mirroring.failover import Failover
from sluice.project.mirroring.mirrors import ProjectMirrors
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import free_ports, running

MIRROR = """\
name: standby
source: local
target: reserve
topics: [flights]
heartbeats: 2s
checkpoints: 2s
max_lag: 10s
heap: 256m
"""
_RESERVE = """\
name: reserve
kafka:
  kind: external
  bootstrap: ["{bootstrap}"]
"""


@dataclass
class TwoClusters:
    """The project, its state folder and the two brokers; the source's process, to be killed."""

    home: Path
    state: Path
    source: BrokerProcess
    target: BrokerProcess
    process: subprocess.Popen[bytes]

    def project(self, deployment: str = "local") -> Project:
        """Return the project in one of its deployments."""
        return Project.open_strict(Settings(home=self.home, state=self.state, deployment=deployment))

    @property
    def mirrors(self) -> ProjectMirrors:
        """Return its mirrors."""
        return ProjectMirrors(self.project())

    def failover(self) -> Failover:
        """Return the fail-over of its unit."""
        return Failover(self.mirrors, "standby", self.project().catalog.unit("flights"))

    def start(self) -> None:
        """Start the mirror."""
        self.mirrors.start("standby", by="test", why="to see")

    def stop(self) -> None:
        """Stop the mirror, and keep it stopped."""
        self.mirrors.life("standby").stop("test", "to see", 30)

    def copied(self) -> None:
        """Wait until everything is copied."""
        self.eventually(lambda: (lag := self.mirrors.lag("standby")).records == 0 and not lag.absent, "is all copied")

    def kill_source(self) -> None:
        """End the source as a power cut does."""
        self.process.kill()
        self.process.wait()

    def kill_mirror(self) -> str:
        """End MirrorMaker as a power cut does, so that it finishes nothing; return what shows that."""
        life = self.mirrors.life("standby")
        attempt = life.observe().attempt
        assert attempt is not None
        report = life.launcher.kill(attempt.key)
        return f"{attempt.key} is {report.state}, with the exit code {report.exit_code}"

    def eventually(self, condition: Callable[[], bool], what: str, deadline_seconds: float = 90) -> None:
        """Wait until something holds; if it does not in time, say what it was and how the mirror's log ends."""
        if not wait_until(condition, SystemClock(), deadline_seconds=deadline_seconds):
            logs = sorted((self.state / "drivers").glob("local.mirror_standby.g*/driver.log"))
            said = logs[-1].read_text(errors="replace")[-4000:] if logs else "none"
            raise AssertionError(f"not so in time: it {what}. The mirror's log ends: {said}")


def send(broker: BrokerProcess, first: int, count: int) -> None:
    """Send numbered records, one partition after the other."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, **client_arguments(broker.client))
    for number in range(first, first + count):
        producer.send("flights", key=b"k", value=str(number).encode(), partition=number % 4)
    producer.close()


@contextmanager
def two_clusters(folder: Path, *, topic: bool = True, secured: bool = False) -> Iterator[TwoClusters]:
    """Run both brokers; on the way out they and the mirror are gone.

    Args:
        folder: of their own.
        topic: whether the source has the topic already.
        secured: whether the source encrypts, and asks who connects.
    """
    home, state = folder / "project", folder / "state"
    for part in ("include", "spark_jobs"):
        shutil.copytree(settings().home / part, home / part, ignore=shutil.ignore_patterns("__pycache__", "sluice"))
    place = Settings(home=home, state=state)
    admin = administrator(place.folder.kafka) if secured else None
    source = BrokerProcess(place.folder.kafka, *free_ports(), settings().jars, admin=admin)
    target = BrokerProcess(folder / "target", *free_ports(), settings().jars)
    (home / "include" / "mirrors").mkdir(exist_ok=True)
    (home / "include" / "mirrors" / "standby.yaml").write_text(MIRROR)
    (home / "include" / "deployments" / "reserve.yaml").write_text(_RESERVE.format(bootstrap=target.bootstrap))
    with ExitStack() as stack:
        for broker in (source, target):
            broker.prepare()
        process = stack.enter_context(running(source))
        stack.enter_context(running(target))
        write_endpoints(place.folder, Endpoints((source.bootstrap,), "", kafka_secured=secured))
        if admin is not None:
            admin.admit()
            place.folder.supervisor.mkdir(parents=True, exist_ok=True)
            store_security(place, secured=True)
        found = TwoClusters(home, state, source, target, process)
        if topic:
            with KafkaPythonAdministration((source.bootstrap,), source.client) as administration:
                administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
        stack.callback(end_mirrors, place)
        yield found


def end_mirrors(place: Settings) -> None:
    """Kill what is left of the mirrors of a project."""
    launcher = Project.open_tolerant(place).processes.launcher()
    for report in launcher.living():  # type: ignore[attr-defined]  # of this machine
        launcher.kill(report.key)
