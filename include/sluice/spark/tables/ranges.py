"""Ranges of time as a condition that Delta and Parquet can skip files by."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sluice.intervals.alignment import Interval


def within(column: str, ranges: Iterable[Interval]) -> str:
    """Return the SQL condition that a timestamp column lies in one of the ranges; of no range, that it never does."""
    name = _quoted(column)
    parts = (f"({name} >= {_literal(r.start)} AND {name} < {_literal(r.end)})" for r in ranges)
    return " OR ".join(parts) or "false"


def before(column: str, instant: datetime) -> str:
    """Return the SQL condition that a timestamp column lies before an instant."""
    return f"{_quoted(column)} < {_literal(instant)}"


def _quoted(column: str) -> str:
    return f"`{column.replace('`', '``')}`"


def _literal(instant: datetime) -> str:
    return f"timestamp'{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"
