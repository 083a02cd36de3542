"""How far a reader has read a topic, also one that was deleted and created again, whose offsets count again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reach:
    """Everything below some offsets.

    Attributes:
        offsets: next offset per `topic/partition`, in the newest of `topics`.
        topics: ids (the cluster's UUIDs) of the topics that were read, oldest first: of every one but the newest, all
            that was ever stored is below. Empty if unknown: then the topic is taken for the same as the other's.
    """

    offsets: Mapping[str, int]
    topics: tuple[str, ...] = ()

    def covers(self, other: Reach) -> bool:
        """Whether a reader up to here has read everything below `other`."""
        if not self.topics or not other.topics or self.topics[-1] == other.topics[-1]:
            return covers(self.offsets, other.offsets)
        return other.topics[-1] in self.topics

    def preceded_by(self, topics: Sequence[str]) -> Reach:
        """Return it with those topics before its own that are known to be older.

        Args:
            topics: ids, oldest first. If its own is not among them, they say nothing.
        """
        if not self.topics or self.topics[-1] not in topics:
            return self
        older = topics[: topics.index(self.topics[-1])]
        return Reach(self.offsets, tuple(dict.fromkeys((*older, *self.topics))))


UNREACHABLE = Reach({"": 2**63 - 1})
"""What no reader ever covers: records that are gone."""


@dataclass(frozen=True)
class Hole:
    """Records that were gone from the topic before its raw stream read them.

    Attributes:
        topic: its id.
        partition: `topic/partition`.
        first: the first offset that is lacking.
        end: the next offset that is there.
    """

    topic: str
    partition: str
    first: int
    end: int

    @property
    def reach(self) -> Reach:
        """Everything below its end, in its partition."""
        return Reach({self.partition: self.end}, (self.topic,))

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.partition} offsets {self.first} to {self.end - 1}"


@dataclass(frozen=True)
class RawPosition:
    """How far a raw table goes.

    Attributes:
        version: of the table; -1 if there is none.
        reach: what it holds.
        holes: what it lacks of that.
        times: how the times of its records were read, see `TopicValue.times`; empty: not known.
    """

    version: int = -1
    reach: Reach = Reach({})
    holes: tuple[Hole, ...] = ()
    times: str = ""


def covers(offsets: Mapping[str, int], end: Mapping[str, int]) -> bool:
    """Whether a reader of one topic up to `offsets` has read everything below `end`."""
    return all(offsets.get(partition, 0) >= offset for partition, offset in end.items())
