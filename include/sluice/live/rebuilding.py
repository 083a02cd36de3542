"""A `latest` table built again from the interval table, as far as that is settled.

A live stream delivers each record once. So its newest rows lack what came late, what a backfill corrected, and what lay
before its first position. All of that is in the interval table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isnan
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sluice.live.store import LatestTable, newest

HeldRow = Mapping[str, Any]


class RebuildStore(Protocol):
    """A `latest` table beside its writer, which may go on meanwhile."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns.

        Raises:
            NotReadyError: there is no table.
            UnreachableError: the store could not be asked.
        """

    def rows(self) -> Sequence[HeldRow]:
        """Return all rows; times are in UTC.

        Raises:
            UnreachableError: the store could not be asked.
        """

    def count_later(self, time_column: str, than: datetime) -> int:
        """Return how many rows have a later time (UTC); 0 without a table.

        Raises:
            UnreachableError: the store could not be asked.
        """

    def remove_later(self, time_column: str, than: datetime) -> None:
        """Remove the rows that have a later time (UTC).

        Raises:
            UnreachableError: the store could not be asked; whether it was changed is unknown.
        """

    def replace(self, rows: pa.Table, keys: Sequence[str], time_column: str, before: datetime) -> None:
        """Let these be all rows of an earlier time, at once or not at all. A key with a row of a later time keeps that.

        Args:
            rows: with the columns of the table, one per key.
            keys: that name a row.
            time_column: says of what time a row is.
            before: that time (UTC).

        Raises:
            UnreachableError: the store could not be asked; whether it was changed is unknown.
        """


@dataclass(frozen=True)
class Rebuild:
    """How a `latest` table differs from the interval table.

    Attributes:
        rows: what it should hold of settled intervals.
        before: up to where they are settled (UTC).
        missing: rows that it does not hold.
        different: rows that it holds otherwise.
        extra: rows that it holds of settled intervals, which these have not.
        later: rows of open intervals, which stay.
    """

    rows: pa.Table
    before: datetime
    missing: int
    different: int
    extra: int
    later: int

    @property
    def needed(self) -> bool:
        """Whether anything differs."""
        return bool(self.missing or self.different or self.extra)


def plan_rebuild(settled: pa.Table, held: Sequence[HeldRow], table: LatestTable, before: datetime) -> Rebuild:
    """Compare a `latest` table with what the interval table says.

    Args:
        settled: rows of the interval table, with the columns of the `latest` table.
        held: rows of the `latest` table.
        table: the `latest` table, with its time column; without `newest_by` the row of the later interval is newer.
        before: up to where intervals are settled (UTC).

    Raises:
        RefusedError: a key is null.
    """
    keys, time = table.keys, str(table.time_column)
    inside = settled.filter(pc.less(settled.column(time), pa.scalar(before)))
    rows = newest(inside, keys, table.newest_by or time)
    wanted = _by_key(rows.to_pylist(), keys)
    earlier = _by_key([row for row in held if row[time] < before], keys)
    later = _by_key([row for row in held if row[time] >= before], keys)
    return Rebuild(
        rows,
        before,
        missing=len(wanted.keys() - earlier.keys() - later.keys()),
        different=sum(_comparable(row) != _comparable(wanted[key]) for key, row in earlier.items() if key in wanted),
        extra=len(earlier.keys() - wanted.keys()),
        later=len(later),
    )


def _comparable(row: HeldRow) -> HeldRow:
    """Return a row that equals itself: a number that is none (NaN) does not."""
    return {name: "NaN" if isinstance(value, float) and isnan(value) else value for name, value in row.items()}


def _by_key(rows: Sequence[HeldRow], keys: Sequence[str]) -> dict[tuple[Any, ...], HeldRow]:
    return {tuple(row[key] for key in keys): row for row in rows}
