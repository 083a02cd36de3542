"""The port to a Kafka cluster's administration. The real adapter and its in-memory twin pass one suite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from sluice.errors import SluiceError
from sluice.topics.replica_administration import ReplicaAdministration


@dataclass(frozen=True)
class TopicState:
    """A topic as the cluster has it.

    Attributes:
        topic_id: the cluster's UUID: a topic that was deleted and created again has another one.
        replicas: broker ids per partition, leader preference first; of one that moves also those that it leaves.
        configs: only the configurations set on the topic itself.
        leaders: broker id per partition; None where there is none.
        in_sync: broker ids per partition, ordered.
    """

    name: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str] = field(default_factory=dict)
    leaders: tuple[int | None, ...] = ()
    in_sync: tuple[tuple[int, ...], ...] = ()

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return len(self.replicas)


@dataclass(frozen=True)
class TopicCreation:
    """A topic to create.

    Attributes:
        assignment: broker ids per partition, the preferred leader first; empty: as the cluster likes.
    """

    name: str
    partitions: int
    replication: int
    configs: Mapping[str, str] = field(default_factory=dict)
    assignment: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class TopicExtent:
    """What a topic holds, per partition.

    Attributes:
        topic_id: the cluster's UUID of it.
        beginnings: the first offset that there still is.
        ends: the offset after the last that may be read: the first of the oldest open transaction, if there is one.
        held: how many offsets lie behind an open transaction, of partitions that have one; a consumer of committed
            records gets none of them before it ends.
    """

    topic_id: str
    beginnings: Mapping[int, int]
    ends: Mapping[int, int]
    held: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordStamp:
    """A record's timestamp (UTC); `appended`: the broker set it, so it is no producer's opinion."""

    at: datetime
    appended: bool


class KafkaAdministration(ReplicaAdministration, Protocol):
    """Every method may raise UnreachableError."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all topics that we may see, Kafka's own too, ordered."""
        ...

    def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
        """Return the state of those topics that exist."""
        ...

    def configs_in_force(self, names: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configurations by which topics are kept, the broker's defaults among them.

        A topic that does not exist, or whose configurations are not ours to see, is left out.
        """
        ...

    def create(self, creations: Sequence[TopicCreation]) -> None:
        """Create topics and return when the cluster shows them.

        Raises:
            RefusedError: the cluster refused (it exists, too few brokers, a bad configuration); says which and why.
        """
        ...

    def grow(self, topic: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        """Give a topic partitions, so that it has so many, and return when the cluster shows them.

        They lie on the brokers of `assignment`; without it the cluster decides.

        Raises:
            RefusedError: the cluster refused (it has as many or more, it does not exist); says why.
        """
        ...

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """Set configurations on a topic, None for the broker's default, and return when the cluster shows them.

        Raises:
            RefusedError: the cluster refused (an unknown name, a bad value); says which and why. None was set.
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

    def extents(self, topics: Collection[str]) -> Mapping[str, TopicExtent | SluiceError]:
        """Return what each topic holds, in a number of requests that does not grow with the number of topics.

        A topic of which that cannot be said (it does not exist, is not ours to see, has no leader) has the reason in
        its place: it disturbs no other.
        """
        ...

    def offsets_at(self, topic: str, at: datetime) -> Mapping[int, int]:
        """Return the offset of the first record whose timestamp is no older than `at`; without one, the end."""
        ...

    def set_group(self, group: str, offsets: Mapping[str, int]) -> None:
        """Set the next offsets of a consumer group, per `topic/partition`. Its other offsets stay.

        Raises:
            RefusedError: a consumer uses it.
        """
        ...

    def stamps(self, topic: str, offsets: Mapping[int, int]) -> Mapping[int, RecordStamp]:
        """Return the timestamp of the first record at or after an offset, per partition.

        A partition without such a record, or that did not answer in time, is left out.

        Raises:
            SluiceError: a record cannot be read, however often it is tried.
        """
        ...
