"""The port to a Kafka cluster's administration. The real adapter and its in-memory twin pass one suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class TopicState:
    """A topic as the cluster has it.

    Attributes:
        topic_id: the cluster's UUID: a topic that was deleted and created again has another one.
        replicas: broker ids per partition, leader preference first.
        configs: only the configurations set on the topic itself.
    """

    name: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return len(self.replicas)


@dataclass(frozen=True)
class TopicCreation:
    """A topic to create."""

    name: str
    partitions: int
    replication: int
    configs: Mapping[str, str] = field(default_factory=dict)


class KafkaAdministration(Protocol):
    """Every method may raise UnreachableError."""

    def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
        """Return the state of those topics that exist."""
        ...

    def create(self, creations: Sequence[TopicCreation]) -> None:
        """Create topics and return when the cluster shows them.

        Raises:
            RefusedError: the cluster refused (it exists, too few brokers, a bad configuration); says which and why.
        """
        ...

    def beginnings(self, topic: str) -> Mapping[int, int]:
        """Return the first offset of each partition."""
        ...

    def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset after the last record of each partition."""
        ...
