"""Reading a topic output, each record once: for consumers that use kafka-python.

    for record in deduplicated(consumer):
        ...

Other clients do the same in a few lines; see `sluice.topics.deduplication` for the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from sluice.topics.deduplication import Deduplication, DeliveryHeaders


class ConsumedRecord(Protocol):
    """What a consumer of kafka-python hands out, as far as it matters here."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def headers(self) -> Iterable[tuple[str, bytes]]:
        """Its headers in order."""


R = TypeVar("R", bound=ConsumedRecord)


def deduplicated(records: Iterable[R], seen: Deduplication | None = None) -> Iterator[R]:
    """Yield the records that are news. What no topic output has sent passes.

    Args:
        records: in the order of their offsets within a partition.
        seen: what is remembered from before; partitions are named `topic/partition`.
    """
    memory = Deduplication() if seen is None else seen
    for record in records:
        delivery = DeliveryHeaders.of_headers(dict(record.headers))
        if delivery is None or memory.is_new(f"{record.topic}/{record.partition}", delivery):
            yield record
