"""The record of results of expectations in intervals, in SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row, and_, delete, insert, select

from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.tables import interval_quality
from sluice.intervals.entries import Content
from sluice.quality.intervals import IntervalCheckResult
from sluice.quality.results import StoredResult, without_samples

_AT_ONCE = 500
"""Rows of a statement: databases bound the number of its parameters."""


class SqlQualityResults(DeploymentRecords):
    """Implements `sluice.quality.results.QualityResults` for one deployment. Safe from several processes at once."""

    def keep(self, pipeline: str, results: Iterable[StoredResult]) -> None:
        """Put results on record, in place of earlier ones of the same expectation and interval."""
        rows = [self._row(pipeline, kept) for kept in results]
        columns = interval_quality.c
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, f"quality of {pipeline} in {self._deployment}")
            for key in dict.fromkeys(row["key"] for row in rows):
                starts = [row["starts_at"] for row in rows if row["key"] == key]
                for first in range(0, len(starts), _AT_ONCE):
                    named = columns.starts_at.in_(starts[first : first + _AT_ONCE])
                    ours = and_(columns.deployment == self._deployment, columns.pipeline == pipeline)
                    connection.execute(delete(interval_quality).where(ours, columns.key == key, named))
            for first in range(0, len(rows), _AT_ONCE):
                connection.execute(insert(interval_quality), rows[first : first + _AT_ONCE])

    def of(self, pipeline: str, keys: Collection[str], since: datetime, until: datetime) -> Sequence[StoredResult]:
        """Return the results of expectations in the intervals that start in `[since, until)`, in the order of time."""
        columns = interval_quality.c
        ours = and_(columns.deployment == self._deployment, columns.pipeline == pipeline, columns.key.in_(keys))
        within = and_(columns.starts_at >= since, columns.starts_at < until)
        query = select(interval_quality).where(ours, within).order_by(columns.starts_at, columns.key)
        return tuple(map(_kept, self._read(query)))

    def _row(self, pipeline: str, kept: StoredResult) -> dict[str, Any]:
        checked = without_samples(kept.checked)
        return {
            "deployment": self._deployment,
            "pipeline": pipeline,
            "key": checked.key,
            "starts_at": checked.start,
            "rows": kept.content.rows,
            "checksum": kept.content.checksum,
            "verdict": checked.verdict.value,
            "result": _adapter().dump_json(checked).decode(),
            "checked_by": kept.by,
            "at": kept.at,
        }


def _kept(row: Row[Any]) -> StoredResult:
    checked = _adapter().validate_json(row.result)
    return StoredResult(checked, Content(row.rows, row.checksum), row.checked_by, row.at)


@cache
def _adapter() -> TypeAdapter[IntervalCheckResult]:
    return TypeAdapter(IntervalCheckResult)
