"""What rows amount to per interval: the same count and checksum for the same rows, in whatever order they come."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import RefusedError
from sluice.intervals.entries import Content
from sluice.spark.instants import instant


def content_of(rows: DataFrame, column: str) -> Mapping[datetime, Content]:
    """Count and checksum rows per interval, in one aggregation; intervals without rows are not in the result.

    Args:
        rows: of an output table; they are read once, so whoever needs them again persists them before.
        column: the table's partition column, a timestamp.

    Returns:
        By the interval's start (UTC).

    Raises:
        RefusedError: a row belongs to no interval.
    """
    start = F.unix_micros(column).alias("start")
    hashed = rows.select(start, row_hash(rows.columns).cast("decimal(38,0)").alias("hash"))
    groups = hashed.groupBy("start").agg(F.count("*").alias("rows"), F.sum("hash").alias("checksum")).collect()
    for group in groups:
        if group["start"] is None:
            raise RefusedError(
                f"{group['rows']} result rows have no {column!r}: they belong to no interval.",
                fix="let the transform give every row its time, or leave such rows out.",
            )
    return {
        instant(g["start"]): Content(g["rows"], f"{g['checksum']:f}")
        for g in sorted(groups, key=lambda group: group["start"])
    }


def row_hash(columns: list[str]) -> Column:
    """Hash a row over its columns in the order of their names, so that a table's column order does not matter.

    Spark's hash passes over nulls, so each column's absence is hashed too: (1, null) is not (null, 1).
    """
    return F.xxhash64(*(part for name in sorted(columns) for part in (named(name), named(name).isNull())))


def named(column: str) -> Column:
    """Return a column by its name, whatever characters are in it."""
    return F.col(f"`{column.replace('`', '``')}`")
