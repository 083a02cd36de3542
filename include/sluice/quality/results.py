"""The record of the results of expectations in intervals, each for the content of its interval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from sluice.intervals.entries import Content
from sluice.quality.intervals import IntervalCheckResult


@dataclass(frozen=True)
class StoredResult:
    """One result on record.

    Attributes:
        checked: what was found, without samples: values of the data stay where the data is.
        content: of the interval when it was checked. Once the content has changed, the result is outdated.
        by: a backfill's id, or `check` for one of the published table.
        at: when (UTC).
    """

    checked: IntervalCheckResult
    content: Content
    by: str
    at: datetime


class QualityResults(Protocol):
    """Results in the control database. They can be found again from the table. Methods may raise UnreachableError."""

    def keep(self, pipeline: str, results: Iterable[StoredResult]) -> None:
        """Put results on record, in place of earlier ones of the same expectation and interval."""
        ...

    def of(self, pipeline: str, keys: Collection[str], since: datetime, until: datetime) -> Sequence[StoredResult]:
        """Return the results of expectations in the intervals that start in `[since, until)`, in the order of time."""
        ...


def without_samples(checked: IntervalCheckResult) -> IntervalCheckResult:
    """Return a result without values of the data."""
    return replace(checked, checked=replace(checked.checked, sample=()))


def known_values(
    results: Iterable[StoredResult], contents: Mapping[datetime, Content]
) -> dict[str, dict[datetime, float]]:
    """Return the values by expectation and interval, of intervals whose content has not changed since."""
    values: dict[str, dict[datetime, float]] = {}
    for kept in results:
        checked = kept.checked
        if checked.value is not None and contents.get(checked.start) == kept.content:
            values.setdefault(checked.key, {})[checked.start] = checked.value
    return values
