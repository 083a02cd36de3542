"""The port to a Kafka cluster's administration. The real adapter and its in-memory twin pass one suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
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


@dataclass(frozen=True)
class TopicExtent:
    """What a topic holds, per partition: the first offset that there still is, and the one after the last."""

    topic_id: str
    beginnings: Mapping[int, int]
    ends: Mapping[int, int]


@dataclass(frozen=True)
class RecordStamp:
    """A record's timestamp (UTC); `appended`: the broker set it, so it is no producer's opinion."""

    at: datetime
    appended: bool


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

    def extent(self, topic: str) -> TopicExtent:
        """Return what a topic holds, asked at one time."""
        ...

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        """Return the timestamp of the first record at or after an offset, per partition.

        A partition without such a record, or that did not answer in time, is left out.
        """
        ...
