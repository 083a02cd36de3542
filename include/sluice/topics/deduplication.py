"""Which records of a topic output are news, and which are a crash's repetitions.

A driver that dies in the middle of a batch leaves a part of it in the topic; its successor sends the whole batch again.
Each record therefore carries the batch's position, which grows with every batch, an id that is the same in both, and
the generation of its driver. That is enough to tell, per partition, with a memory of one batch.

Where Spark's own sink sends, in real time or in a hurry, nothing is done for each batch. There a record names the one
that it was made of: the partition of the topic that was read, whose records stay in order, and its position there. The
greatest position that has come is enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

ID, GENERATION, POSITION, SOURCE = "sluice-id", "sluice-generation", "sluice-position", "sluice-source"
"""Names of the headers; their values are text."""
_MAX_DIGITS = 19


@dataclass(frozen=True)
class DeliveryHeaders:
    """What the headers of a record say.

    Attributes:
        id: the same whenever the record is sent again, and different from every other of its batch.
        generation: the attempt that sent it.
        position: of its batch; the next batch's is greater. With a source that of the record that it was made of.
        source: the partition of that record; empty where batches are sent.
    """

    id: str
    generation: int
    position: int
    source: str = ""

    @classmethod
    def of_headers(cls, headers: Mapping[str, bytes | None]) -> DeliveryHeaders | None:
        """Read a record's headers; None for a record that no topic output has sent."""
        try:
            name, generation, position = (headers[each] or b"" for each in (ID, GENERATION, POSITION))
            source = (headers.get(SOURCE) or b"").decode()
            return cls(name.decode(), _number(generation), _number(position), source)
        except (KeyError, ValueError):
            return None


def _number(text: bytes) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError
    return int(text)


@dataclass
class _Seen:
    """What is known of one partition: the newest batch and what of it has come, and how far each source is."""

    generation: int
    position: int
    ids: set[str] = field(default_factory=set)
    sources: dict[str, int] = field(default_factory=dict)


class Deduplication:
    """Tells news from repetitions, partition by partition, in the order of their offsets.

    A caller that must not forget across a restart keeps `state()` together with the offsets that it belongs to.

    Args:
        state: what `state()` returned; None to begin with.
    """

    def __init__(self, state: Mapping[Hashable, Mapping[str, Any]] | None = None) -> None:
        self._partitions = {
            partition: _Seen(seen["generation"], seen["position"], set(seen["ids"]), dict(seen.get("sources", {})))
            for partition, seen in (state or {}).items()
        }

    def is_new(self, partition: Hashable, delivery: DeliveryHeaders) -> bool:
        """Return whether a record is seen for the first time, and remember it."""
        seen = self._partitions.setdefault(partition, _Seen(delivery.generation, delivery.position))
        if delivery.source:
            return _is_beyond(seen, delivery)
        if delivery.generation < seen.generation:  # a driver that was replaced: its successor sends the batch itself
            return False
        if delivery.generation == seen.generation and delivery.position < seen.position:
            return False
        if delivery.position != seen.position:
            # A batch begins. A newer generation may begin lower: its checkpoint was lost and it cuts batches again.
            seen.ids.clear()
        seen.generation, seen.position = delivery.generation, delivery.position
        if delivery.id in seen.ids:
            return False
        seen.ids.add(delivery.id)
        return True

    def state(self) -> dict[Hashable, dict[str, Any]]:
        """Return what is remembered, as JSON values per partition: the ids of one batch, or a position per source."""
        return {
            partition: {
                "generation": seen.generation,
                "position": seen.position,
                "ids": sorted(seen.ids),
                **({"sources": dict(seen.sources)} if seen.sources else {}),
            }
            for partition, seen in self._partitions.items()
        }


def _is_beyond(seen: _Seen, delivery: DeliveryHeaders) -> bool:
    """Return whether a record was made of one that lies beyond all of its partition, and remember it.

    The generation does not matter: a driver that was replaced and does not know it may still commit what it has sent,
    and its successor, if it dies then, begins behind that.
    """
    seen.generation = max(seen.generation, delivery.generation)
    if delivery.position <= seen.sources.get(delivery.source, -1):
        return False
    seen.sources[delivery.source] = delivery.position
    return True
