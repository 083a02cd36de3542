"""A partition, and the brokers of its replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Partition:
    """A partition as it is, or as it is planned.

    Attributes:
        replicas: broker ids, the preferred leader first; empty for a partition that is yet to be placed.
        replication: how many replicas are declared.
        size: bytes of one replica; 0: not known.
    """

    topic: str
    number: int
    replicas: tuple[int, ...]
    replication: int
    size: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """What it is known by, and ordered by."""
        return self.topic, self.number

    def on(self, replicas: tuple[int, ...]) -> Partition:
        """Return this partition with other replicas."""
        return replace(self, replicas=replicas)

    def __str__(self) -> str:
        return f"{self.topic}/{self.number}"
