"""The record of growths in memory: the same behaviour as `sluice.control.order_breaks.SqlOrderBreaks`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sluice.provisioning.growth.order_break import OrderBreak, grown_already, no_such_intent


class InMemoryOrderBreaks:
    """Implements `sluice.provisioning.growth.order_break.OrderBreaks` for one process."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, int], OrderBreak] = {}

    def intend(self, found: OrderBreak) -> None:
        known = self.records.get((found.topic_id, found.after))
        if known is not None and known.grown_at is not None:
            raise grown_already(known)
        self.records[found.topic_id, found.after] = replace(found, grown_at=None, drained=None)

    def confirm(self, topic_id: str, after: int, *, at: datetime, drained: bool) -> OrderBreak:
        found = self.records.get((topic_id, after))
        if found is None:
            raise no_such_intent(topic_id, after)
        if found.grown_at is None:
            found = self.records[topic_id, after] = replace(found, grown_at=at, drained=drained)
        return found

    def of(self, topic: str) -> Sequence[OrderBreak]:
        ours = [found for found in self.records.values() if found.topic == topic]
        return tuple(sorted(ours, key=lambda found: (found.intended_at, found.after)))
