"""Ranges of time as a condition that Delta and Parquet can skip files by."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.intervals.alignment import Interval

_NUMBER = "_number"


def within(column: str, ranges: Iterable[Interval]) -> str:
    """Return the SQL condition that a timestamp column lies in one of the ranges; of no range, that it never does."""
    name = _quoted(column)
    parts = (f"({name} >= {_literal(r.start)} AND {name} < {_literal(r.end)})" for r in ranges)
    return " OR ".join(parts) or "false"


def before(column: str, instant: datetime) -> str:
    """Return the SQL condition that a timestamp column lies before an instant."""
    return f"{_quoted(column)} < {_literal(instant)}"


def kept(rows: DataFrame, condition: str) -> DataFrame:
    """Keep the rows of a condition, after they are made.

    Spark would push it below an aggregation over session windows, and judge the window of each record before it is
    merged with its neighbours: a session that reaches over a bound would fall apart. It pushes nothing below a column
    that is not deterministic.
    """
    numbered = rows.withColumn(_NUMBER, F.monotonically_increasing_id())
    return numbered.where(f"({condition}) AND {_NUMBER} >= 0").drop(_NUMBER)


def _quoted(column: str) -> str:
    return f"`{column.replace('`', '``')}`"


def _literal(instant: datetime) -> str:
    return f"timestamp'{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"
