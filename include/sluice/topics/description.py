"""What there is to know of a topic: who declares, writes and reads it, and how its replicas do. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sluice.errors import SluiceError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.outputs import WrittenTopic
from sluice.topics.administration import KafkaAdministration, TopicExtent, TopicState


@dataclass(frozen=True)
class Usage:
    """What the specs say of a topic.

    Attributes:
        file: the spec that declares it; None: no spec does.
        owner: who answers for it; None where that is not said.
        keyed: whether records of one key have to stay in order; None of a topic that no spec declares.
        read_by: the pipelines that read it.
        written_by: the pipelines that write to it.
        fed_by: the feeds that send to it.
    """

    file: str | None = None
    owner: str | None = None
    keyed: bool | None = None
    read_by: tuple[str, ...] = ()
    written_by: tuple[str, ...] = ()
    fed_by: tuple[str, ...] = ()

    @classmethod
    def of(cls, catalog: Catalog, topic: str) -> Usage:
        """Return what a project's specs say of a topic."""
        shape = catalog.kafka_topics().get(topic)
        return cls(
            _file(catalog, topic),
            shape.owner if shape else None,
            shape.keyed if shape else None,
            tuple(sorted(reader.name for reader in catalog.readers.get(topic, ()))),
            tuple(sorted({pipeline for pipeline, _ in _outputs(catalog, topic)})),
            tuple(sorted(feed.name for feed in catalog.feeds.values() if feed.topic == topic)),
        )


@dataclass(frozen=True)
class Description:
    """A topic as it is.

    Attributes:
        state: as the cluster has it.
        usage: as the specs know it.
        extent: what it holds; an error where that cannot be said.
    """

    state: TopicState
    usage: Usage
    extent: TopicExtent | SluiceError

    @property
    def records(self) -> int | None:
        """Offsets between the first record and the end: so many records at most. None where it is not known."""
        if isinstance(self.extent, SluiceError):
            return None
        return sum(end - self.extent.beginnings[partition] for partition, end in self.extent.ends.items())

    @property
    def leaderless(self) -> tuple[int, ...]:
        """Partitions that no broker leads: no client can read or write them."""
        return tuple(partition for partition, leader in enumerate(self.state.leaders) if leader is None)

    @property
    def under_replicated(self) -> tuple[int, ...]:
        """Partitions of which some replica is not in sync."""
        pairs = zip(self.state.replicas, self.state.in_sync, strict=False)
        return tuple(partition for partition, (replicas, in_sync) in enumerate(pairs) if set(replicas) - set(in_sync))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One mapping per partition: partition, leader, replicas, in_sync, first, next; None where it is not known."""
        extent = None if isinstance(self.extent, SluiceError) else self.extent
        return [
            {
                "partition": partition,
                "leader": leader,
                "replicas": list(replicas),
                "in_sync": list(in_sync),
                "first": extent.beginnings.get(partition) if extent else None,
                "next": extent.ends.get(partition) if extent else None,
            }
            for partition, (replicas, leader, in_sync) in enumerate(
                zip(self.state.replicas, self.state.leaders, self.state.in_sync, strict=True)
            )
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        known = None if isinstance(self.extent, SluiceError) else self.extent
        usage = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self.usage).items()}
        return {
            "name": self.state.name,
            "topic_id": self.state.topic_id,
            "declared_in": usage.pop("file"),
            **usage,
            "partitions": self.state.partitions,
            "replicas": [list(replicas) for replicas in self.state.replicas],
            "leaders": list(self.state.leaders),
            "in_sync": [list(in_sync) for in_sync in self.state.in_sync],
            "leaderless": list(self.leaderless),
            "under_replicated": list(self.under_replicated),
            "configs": dict(sorted(self.state.configs.items())),
            "beginnings": dict(known.beginnings) if known else None,
            "ends": dict(known.ends) if known else None,
            "records": self.records,
            "unknown": None if known else str(self.extent),
        }


def described(catalog: Catalog, administration: KafkaAdministration, topics: Collection[str]) -> list[Description]:
    """Return those topics that exist, ordered by name."""
    states = administration.describe(topics)
    extents = administration.extents(states.keys())
    return [Description(states[name], Usage.of(catalog, name), extents[name]) for name in sorted(states)]


def _outputs(catalog: Catalog, topic: str) -> Iterator[tuple[str, WrittenTopic]]:
    for pipeline in catalog.pipelines.values():
        for output in pipeline.written_topics:
            if output.topic == topic:
                yield pipeline.name, output


def _file(catalog: Catalog, topic: str) -> str | None:
    if topic in catalog.topics or topic in catalog.absent:
        return f"include/topics/{topic}.yaml"
    creators = (pipeline for pipeline, output in _outputs(catalog, topic) if output.create is not None)
    return next((f"include/pipelines/{pipeline}.yaml" for pipeline in creators), None)
