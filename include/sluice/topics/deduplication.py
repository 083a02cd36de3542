"""Which records of a topic output are news, and which are a crash's repetitions.

A driver that dies in the middle of a batch leaves a part of it in the topic; its successor sends the whole batch again.
Each record therefore carries the batch's position, which grows with every batch, an id that is the same in both, and
the generation of its driver. That is enough to tell, per partition, with a memory of one batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

ID, GENERATION, POSITION = "sluice-id", "sluice-generation", "sluice-position"
"""Names of the headers; their values are text."""
_MAX_DIGITS = 19


@dataclass(frozen=True)
class DeliveryHeaders:
    """What the headers of a record say.

    Attributes:
        id: the same whenever the record is sent again, and different from every other of its batch.
        generation: the attempt that sent it.
        position: of its batch; the next batch's is greater.
    """

    id: str
    generation: int
    position: int

    @classmethod
    def of_headers(cls, headers: Mapping[str, bytes | None]) -> DeliveryHeaders | None:
        """Read a record's headers; None for a record that no topic output has sent."""
        try:
            name, generation, position = (headers[each] or b"" for each in (ID, GENERATION, POSITION))
            return cls(name.decode(), _number(generation), _number(position))
        except (KeyError, ValueError):
            return None


def _number(text: bytes) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError
    return int(text)


@dataclass
class _Seen:
    """What is known of one partition: the newest batch, and what of it has come."""

    generation: int
    position: int
    ids: set[str] = field(default_factory=set)


class Deduplication:
    """Tells news from repetitions, partition by partition, in the order of their offsets.

    A caller that must not forget across a restart keeps `state()` together with the offsets that it belongs to.

    Args:
        state: what `state()` returned; None to begin with.
    """

    def __init__(self, state: Mapping[Hashable, Mapping[str, Any]] | None = None) -> None:
        self._partitions = {
            partition: _Seen(seen["generation"], seen["position"], set(seen["ids"]))
            for partition, seen in (state or {}).items()
        }

    def is_new(self, partition: Hashable, delivery: DeliveryHeaders) -> bool:
        """Return whether a record is seen for the first time, and remember it."""
        seen = self._partitions.setdefault(partition, _Seen(delivery.generation, delivery.position))
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
        """Return what is remembered, as JSON values per partition: the ids of one batch each."""
        return {
            partition: {"generation": seen.generation, "position": seen.position, "ids": sorted(seen.ids)}
            for partition, seen in self._partitions.items()
        }
