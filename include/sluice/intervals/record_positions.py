"""Where records are: offsets of partitions of topics, as ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

TopicPosition = tuple[str, int, int]
"""A record: topic id, partition, offset."""

OffsetRange = tuple[int, int]
"""Offsets, the last one included."""

PartitionRange = tuple[str, int, OffsetRange]
"""Records of one partition: topic id, partition, offsets."""


@dataclass(frozen=True)
class RecordPositions:
    """Records by their places.

    Attributes:
        ranges: by topic id and partition: apart from each other, in order.
    """

    ranges: Mapping[str, Mapping[int, tuple[OffsetRange, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, positions: Iterable[TopicPosition]) -> RecordPositions:
        """Return records as ranges."""
        return cls.joined((topic, partition, (offset, offset)) for topic, partition, offset in positions)

    @classmethod
    def joined(cls, pieces: Iterable[PartitionRange]) -> RecordPositions:
        """Return ranges, those that touch or overlap as one."""
        held: dict[str, dict[int, list[OffsetRange]]] = {}
        for topic, partition, (first, last) in sorted(pieces):
            own = held.setdefault(topic, {}).setdefault(partition, [])
            if own and first <= own[-1][1] + 1:
                own[-1] = (own[-1][0], max(own[-1][1], last))
            else:
                own.append((first, last))
        return cls({topic: {p: tuple(own) for p, own in parts.items()} for topic, parts in held.items()})

    def pieces(self) -> Iterator[PartitionRange]:
        """Yield all ranges in order."""
        for topic, parts in sorted(self.ranges.items()):
            for partition, own in sorted(parts.items()):
                yield from ((topic, partition, each) for each in own)

    @property
    def count(self) -> int:
        """How many offsets there are."""
        return sum(last - first + 1 for _, _, (first, last) in self.pieces())

    def __or__(self, other: RecordPositions) -> RecordPositions:
        return RecordPositions.joined([*self.pieces(), *other.pieces()])

    def __contains__(self, place: TopicPosition) -> bool:
        topic, partition, offset = place
        own = self.ranges.get(topic, {}).get(partition, ())
        number = bisect_right(own, offset, key=itemgetter(0))
        return number > 0 and offset <= own[number - 1][1]

    def __str__(self) -> str:
        """Return it as people write it: `0:5-9,12; 3:7`; topic ids are left out."""
        parts: dict[int, list[str]] = {}
        for _, partition, (first, last) in self.pieces():
            parts.setdefault(partition, []).append(f"{first}" if first == last else f"{first}-{last}")
        return "; ".join(f"{partition}:{','.join(own)}" for partition, own in sorted(parts.items()))


NO_POSITIONS = RecordPositions()
"""No records."""
