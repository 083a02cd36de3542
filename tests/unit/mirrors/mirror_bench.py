"""A project whose mirror copies `flights`, over two clusters in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.intervals.reach import RawPosition, Reach
from sluice.mirrors.configuration import header_of
from sluice.project.mirroring.failover import Failover
from sluice.project.mirroring.mirrors import Cluster, ProjectMirrors
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.streams.position.epochs import Epoch
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import InMemoryRecords

NOON = datetime(2013, 1, 7, 12, tzinfo=UTC)
STREAMS = ("raw_flights", "departures", "departures_live")


@dataclass(frozen=True)
class TwinMirrors(ProjectMirrors):
    """Mirrors whose clusters are in memory."""

    clusters: Mapping[str, Cluster] = field(default_factory=dict)

    @contextmanager
    def cluster(self, deployment: str) -> Iterator[Cluster]:
        """Return one of them."""
        yield self.clusters[deployment]


class MirrorBench:
    """The project, and what a test does to its clusters."""

    def __init__(self, folder: Path) -> None:
        self.home, self.state = folder / "project", folder / "state"
        for part in ("include", "spark_jobs"):
            ignored = shutil.ignore_patterns("sluice", "__pycache__")
            shutil.copytree(settings().home / part, self.home / part, ignore=ignored)
        self.write("deployments/reserve", 'name: reserve\nkafka: {kind: external, bootstrap: ["reserve:9092"]}\n')
        self.write("mirrors/standby", "name: standby\nsource: local\ntarget: reserve\npipelines: [departures]\n")
        self.source, self.target = InMemoryKafkaAdministration(), InMemoryKafkaAdministration()
        self.sent, self.copies = InMemoryRecords(self.source), InMemoryRecords(self.target)
        for cluster in (self.source, self.target):
            cluster.create([TopicCreation("flights", 2, 1)])
        self.identity = self.source.extent("flights").topic_id

    def write(self, name: str, text: str) -> None:
        """Write a spec."""
        path = self.home / "include" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def send(self, count: int) -> None:
        """Send records to each partition of the source."""
        for partition in (0, 1):
            for _ in range(count):
                offset = self.source.offsets["flights"][partition]
                self.sent.append("flights", partition, b"%d" % offset, at=NOON + timedelta(seconds=offset))

    def copy(self, *origins: int, partition: int = 0, value: bytes | None = None) -> None:
        """Copy records of one partition, each behind the mark of a transaction."""
        for origin in origins:
            header = ((header_of("standby"), b"%d" % origin),)
            said = b"%d" % origin if value is None else value
            self.copies.append("flights", partition, said, headers=header, at=NOON + timedelta(seconds=origin))
            self.copies.skip("flights", partition)

    @property
    def project(self) -> Project:
        """Return the project in the source's deployment."""
        return Project.open_strict(Settings(home=self.home, state=self.state))

    @property
    def mirrors(self) -> TwinMirrors:
        """Return its mirrors."""
        ends = {"local": Cluster(self.source, self.sent), "reserve": Cluster(self.target, self.copies)}
        return TwinMirrors(self.project, ends)

    def failover(self) -> Failover:
        """Return the fail-over of its unit."""
        return Failover(self.mirrors, "standby", self.project.catalog.unit("flights"))

    def begin(self, topic_id: str = "") -> None:
        """Put on record that each stream reads the source's topic, or an earlier one, from its beginning."""
        epoch = Epoch(0, topic_id or self.identity, {}, "earliest", "the spec", "start", NOON)
        self._record(epoch)

    def continue_here(self, offsets: Mapping[str, int]) -> None:
        """Put on record that each stream goes on in the source's topic, which is a copy of the one before."""
        self._record(Epoch(1, self.identity, offsets, "the copy", "ada", "lost", NOON, continues=True))

    def _record(self, epoch: Epoch) -> None:
        for stream in STREAMS:
            self.project.streams.epochs(stream).record(epoch)

    def raw_position(self, offsets: Mapping[str, int]) -> RawPosition:
        """Return what a raw table says that holds so much of the source."""
        return RawPosition(1, Reach(offsets, (self.identity,)))
