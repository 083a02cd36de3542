"""The port to where a cluster keeps replicas: brokers, moves, leaders, and the throttle under which replicas move."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

PartitionKey: TypeAlias = tuple[str, int]
"""A topic's name and a partition's number."""


@dataclass(frozen=True)
class BrokerState:
    """A broker that the cluster lists; one that is down is not listed.

    Attributes:
        rack: its `broker.rack`; None where it has none.
    """

    id: int
    rack: str | None = None


@dataclass(frozen=True)
class Throttle:
    """How fast replicas may move, and which.

    Attributes:
        bytes_per_second: at most, into each broker and out of it.
        sources: brokers that give, per partition.
        targets: brokers that get, per partition.
    """

    bytes_per_second: int
    sources: Mapping[PartitionKey, tuple[int, ...]]
    targets: Mapping[PartitionKey, tuple[int, ...]]


THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""A topic's configurations that name the replicas that a throttle slows."""


class ReplicaAdministration(Protocol):
    """Every method may raise UnreachableError."""

    def cluster(self) -> tuple[BrokerState, ...]:
        """Return the brokers, ordered by id. One that was killed stays listed until its session ends."""
        ...

    def reassign(self, targets: Mapping[PartitionKey, tuple[int, ...] | None]) -> None:
        """Have partitions moved to these brokers, the preferred leader first, and return when the cluster has begun.

        None ends the move of a partition: it goes back to where it was. One that does not move is left alone.

        Raises:
            RefusedError: the cluster refused some; says which and why. The others move.
        """
        ...

    def moving(self) -> Mapping[PartitionKey, tuple[int, ...]]:
        """Return the partitions of all topics that are being moved, each with the brokers that its replicas leave."""
        ...

    def sizes(self, topics: Collection[str]) -> Mapping[PartitionKey, Mapping[int, int]]:
        """Return the bytes of each replica, by broker: also of those that are only being copied."""
        ...

    def elect(self, partitions: Collection[PartitionKey]) -> None:
        """Make the first replica of each partition its leader, where that is in sync; the others stay as they are."""
        ...

    def throttle(self, throttle: Throttle) -> None:
        """Slow the moves of these replicas down, and those of no other."""
        ...

    def unthrottle(self, topics: Collection[str]) -> None:
        """Remove every throttle from topics and from the brokers. Without one, nothing happens."""
        ...

    def delete(self, topics: Collection[str]) -> None:
        """Delete topics, and return when a broker no longer shows them; each of the others hears of it by itself.

        Raises:
            RefusedError: the cluster refused some; says which and why. The others are gone.
        """
        ...
