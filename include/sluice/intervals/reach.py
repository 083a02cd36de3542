"""How far a reader has read a topic, also one that was deleted and created again, whose offsets count again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sluice.intervals.raw_floor import RawFloor


@dataclass(frozen=True)
class Reach:
    """Everything below some offsets, of one topic or of several.

    Attributes:
        offsets: next offset per `topic/partition`, each in the newest topic of its name.
        topics: ids (the cluster's UUIDs) of the topics that were read, oldest first: of every one but the newest of its
            name, all that was ever stored is below. Empty if unknown: then a topic is taken for the same as the
            other's. Of several topics each is written as `topic/id`.
    """

    offsets: Mapping[str, int]
    topics: tuple[str, ...] = ()

    @classmethod
    def joined(cls, reaches: Mapping[str, Reach]) -> Reach:
        """Return several topics' as one.

        Args:
            reaches: each of one topic, by the topics' names.
        """
        if len(reaches) == 1:
            return next(iter(reaches.values()))
        offsets = {partition: offset for reach in reaches.values() for partition, offset in reach.offsets.items()}
        return cls(offsets, tuple(f"{name}/{topic}" for name, reach in reaches.items() for topic in reach.topics))

    def of(self, name: str) -> Reach:
        """Return that of one topic; of a topic that it does not know, that of one of which nothing was read."""
        offsets = {partition: end for partition, end in self.offsets.items() if topic_name(partition) == name}
        if self._is_of_several:
            return Reach(offsets, tuple(topic_id for own, topic_id in self._named if own == name))
        return Reach(offsets, self.topics if offsets or not self.offsets else ())

    def at(self, offsets: Mapping[str, int]) -> Reach:
        """Return everything below other offsets in the same topics; those without such offsets are left out."""
        if not self._is_of_several:
            return Reach(offsets, self.topics)
        names = sorted(set(map(topic_name, offsets)))
        named = tuple(f"{name}/{topic}" for name in names for topic in self.of(name).topics)
        return Reach(offsets, named)

    def covers(self, other: Reach) -> bool:
        """Whether a reader up to here has read everything below `other`."""
        if self._is_of_several or other._is_of_several:
            names = {*map(topic_name, other.offsets), *(name for name, _ in other._named)}
            return all(self.of(name)._covers_one_of_several(other.of(name)) for name in names)  # noqa: SLF001 - of its own
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

    def _covers_one_of_several(self, other: Reach) -> bool:
        """Whether it covers another of the same topic, if one of which nothing was read is not one that is unknown."""
        if self.offsets or self.topics:
            return self.covers(other)
        return len(other.topics) <= 1 and not any(other.offsets.values())

    @property
    def _is_of_several(self) -> bool:
        return any("/" in topic for topic in self.topics)

    @property
    def _named(self) -> list[tuple[str, str]]:
        """Name and id of each topic, if it is of several."""
        return [(name, topic_id) for name, slash, topic_id in (each.partition("/") for each in self.topics) if slash]


def topic_name(partition: str) -> str:
    """Return the topic of a `topic/partition`."""
    return partition.rpartition("/")[0]


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
        floor: below which retention has removed records; None: it never has.
        begun: first offset per `topic/partition` of the newest topic that its stream was to read; what lies below are
            copies of what it has of the former one, or is gone. A partition that is missing begins with its first.
    """

    version: int = -1
    reach: Reach = Reach({})
    holes: tuple[Hole, ...] = ()
    times: str = ""
    floor: RawFloor | None = None
    begun: Mapping[str, int] = field(default_factory=dict)


def covers(offsets: Mapping[str, int], end: Mapping[str, int]) -> bool:
    """Whether a reader of one topic up to `offsets` has read everything below `end`."""
    return all(offsets.get(partition, 0) >= offset for partition, offset in end.items())
