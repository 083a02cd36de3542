"""A raw table of which two partitions were read to their half only, and a topic that says that there is no more."""

from __future__ import annotations

from dataclasses import fields

from sluice.intervals.reach import RawPosition, Reach
from sluice.spark.settling.raw_source import RawTableSource
from tests.integration.spark.settling.inputs import SettlerInputs


def half_read(whole: SettlerInputs) -> SettlerInputs:
    """Return inputs of which only the first half of two partitions was read."""
    return whole.with_sources(
        lambda source: _HalfRead(**{each.name: getattr(source, each.name) for each in fields(RawTableSource)})
    )


class _HalfRead(RawTableSource):
    def pin(self) -> RawPosition:
        whole = super().pin()
        halves = {p: end // 2 if p in ("flights/0", "flights/1") else end for p, end in whole.reach.offsets.items()}
        return RawPosition(whole.version, Reach(halves, whole.reach.topics))

    def listed_ends(self) -> Reach:
        return self.pin().reach
