"""Declared and actual topics of one deployment: the two sides of a plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from sluice.errors import SpecError
from sluice.provisioning.placement.document import read_topology_file
from sluice.provisioning.placement.topology import Topology
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.services import APACHE, KafkaService
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import KafkaAdministration, TopicState
from sluice.topics.replica_administration import THROTTLED, BrokerState, PartitionKey


@dataclass(frozen=True)
class Declared:
    """The topics that the specs declare.

    Attributes:
        topics: by name.
        replication: replicas of a topic whose spec has none.
        absent: names of topics that are declared absent.
        domains: what the parts of a broker's rack are, from left to right.
        topology: the brokers and their domains; None: the brokers' racks say them.
        named: the topics that an operator has limited this to; empty: all.
        service: what the cluster is, and does not do.
    """

    topics: Mapping[str, TopicShape]
    replication: int = 1
    absent: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ("rack",)
    topology: Topology | None = None
    named: tuple[str, ...] = ()
    service: KafkaService = APACHE

    @classmethod
    def of(cls, catalog: Catalog, deployment: DeploymentSpec, include: Path) -> Self:
        """Read the specs of a deployment.

        Raises:
            SpecError: the topology file is not there, or not sound.
        """
        return cls(
            catalog.kafka_topics(),
            deployment.replication,
            frozenset(catalog.absent),
            deployment.failure_domains,
            None if deployment.topology is None else read_topology_file(include / deployment.topology),
            service=deployment.kafka.service,
        )

    def only(self, names: Collection[str]) -> Self:
        """Return this for some topics only; without any, for all.

        Raises:
            SpecError: one of them is in no spec.
        """
        declared = self.topics.keys() | self.absent
        if unknown := sorted(set(names) - declared):
            raise SpecError(
                f"no spec declares the topic {', '.join(unknown)}; "
                f"they declare {', '.join(sorted(declared)) or 'none'}.",
                fix="name one of these, or none for all.",
            )
        if not names:
            return self
        topics = {name: topic for name, topic in self.topics.items() if name in names}
        return replace(self, topics=topics, absent=self.absent & set(names), named=tuple(sorted(set(names))))

    def replicas_of(self, topic: str) -> int:
        """Return how many replicas are declared for each partition of a topic."""
        return self.topics[topic].replication or self.replication


@dataclass(frozen=True)
class ActualCluster:
    """The topics and brokers of the cluster.

    Attributes:
        topics: those that are declared, also as absent, and exist.
        brokers: those that the cluster lists.
        moving: the partitions that are being moved, each with the brokers that its replicas leave.
        sizes: bytes of the largest replica of each partition whose replicas may move.
    """

    topics: Mapping[str, TopicState]
    brokers: tuple[BrokerState, ...]
    moving: Mapping[PartitionKey, tuple[int, ...]] = field(default_factory=dict)
    sizes: Mapping[PartitionKey, int] = field(default_factory=dict)

    @classmethod
    def of(cls, declared: Declared, administration: KafkaAdministration) -> Self:
        """Ask the cluster for all that a plan needs."""
        names = declared.topics.keys() | declared.absent
        actual = cls(administration.describe(names), administration.cluster())
        movable = [name for name in declared.topics if _may_move(declared, actual, name)]
        if not movable:  # then the right to see moves and disks is not needed
            return actual
        moving = administration.moving()
        # Described again after that: a move that has ended in between leaves no broker any more.
        topics = administration.describe(names)
        ours = {key: leaving for key, leaving in moving.items() if key[0] in topics}
        sizes = {key: max(of.values(), default=0) for key, of in administration.sizes(movable).items()}
        return replace(actual, topics=topics, moving=ours, sizes=sizes)

    def settled(self, topic: str) -> tuple[tuple[int, ...], ...]:
        """Return a topic's replicas as they are when running moves have ended; () of a topic that does not exist."""
        state = self.topics.get(topic)
        return tuple(
            tuple(broker for broker in replicas if broker not in self.moving.get((topic, partition), ()))
            for partition, replicas in enumerate(state.replicas if state else ())
        )

    def moves(self, topic: str) -> bool:
        """Whether a partition of a topic is being moved."""
        return any(name == topic for name, _ in self.moving)


def _may_move(declared: Declared, actual: ActualCluster, topic: str) -> bool:
    if declared.service.placement is not None:  # and it need not answer what is asked about replicas
        return False
    state, wanted = actual.topics.get(topic), declared.replicas_of(topic)
    if state is None:
        return False
    odd = any(len(now) != wanted for now in state.replicas) or any(name in state.configs for name in THROTTLED)
    return odd or declared.topics[topic].placement != "any"
