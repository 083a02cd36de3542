"""A project and a cluster with one topic that no spec declares yet."""

from __future__ import annotations

import json
from pathlib import Path

from sluice.cli.topics.importing import write
from sluice.provisioning.importing.importer import Importer
from sluice.provisioning.importing.proposal import Proposal, Rejection
from sluice.specs.load import load_catalog, scan
from sluice.specs.model.model import TopicSpec
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import InMemoryRecords
from tests.unit.specs.bench import Bench, sound_project

TOPIC = "events"


AT = {"at": "2013-01-07T12:00:00Z"}


class Scene:
    """A sound project, a cluster of three brokers, and one topic on it that nobody has declared."""

    def __init__(self, home: Path) -> None:
        self.bench: Bench = sound_project(home)
        self.cluster = InMemoryKafkaAdministration(brokers=3)
        self.records = InMemoryRecords(self.cluster)
        self.cluster.create([TopicCreation(TOPIC, 2, 1)])

    def send(self, *values: object, key: bytes | None = None, topic: str = TOPIC) -> None:
        for value in values:
            self.records.append(topic, 0, value if isinstance(value, bytes) else json.dumps(value).encode(), key=key)

    @property
    def importer(self) -> Importer:
        include = self.bench.include
        return Importer(include, load_catalog(include), "prod", 1, self.cluster, self.records)

    def proposal(self) -> Proposal:
        proposed, rejected = self.importer.propose([TOPIC])
        assert rejected == []
        return proposed[0]

    def rejection(self, topic: str = TOPIC) -> Rejection:
        proposed, rejected = self.importer.propose([topic])
        assert proposed == []
        return rejected[0]

    def spec(self) -> TopicSpec:
        """Write what is proposed, and read all specs."""
        written, present = write([self.proposal()], self.bench.include / "topics")
        assert (len(written), present) == (1, [])
        assert scan(self.bench.include).faults == ()
        return load_catalog(self.bench.include).topics[TOPIC]
