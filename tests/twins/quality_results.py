"""The record of results in memory: the same behaviour as `sluice.control.quality.SqlQualityResults`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from sluice.quality.results import StoredResult, without_samples


class InMemoryQualityResults:
    """Implements `sluice.quality.results.QualityResults` for one process."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str, datetime], StoredResult] = {}

    def keep(self, pipeline: str, results: Iterable[StoredResult]) -> None:
        for kept in results:
            place = (pipeline, kept.checked.key, kept.checked.start)
            self.records[place] = replace(kept, checked=without_samples(kept.checked))

    def of(self, pipeline: str, keys: Collection[str], since: datetime, until: datetime) -> Sequence[StoredResult]:
        found = [
            (start, key, kept)
            for (name, key, start), kept in self.records.items()
            if name == pipeline and key in keys and since <= start < until
        ]
        return tuple(kept for _, _, kept in sorted(found, key=lambda each: each[:2]))
