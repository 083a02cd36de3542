"""What rows amount to per interval: the same count and checksum for the same rows, in whatever order they come."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from sluice.errors import RefusedError
from sluice.intervals.entries import Content
from sluice.spark.records.instants import instant

HASH = "__hash"
"""The column with the hash of a row."""


def content_of(rows: DataFrame, column: str) -> Mapping[datetime, Content]:
    """Count and checksum rows per interval, in one aggregation; intervals without rows are not in the result.

    Args:
        rows: of an output table, with `column`; all columns count. They are read once.
        column: the table's partition column, a timestamp.

    Returns:
        By the interval's start (UTC).

    Raises:
        RefusedError: a row belongs to no interval.
    """
    start = F.unix_micros(column).alias("start")
    hashed = rows.select(start, row_hash(rows.schema).cast("decimal(38,0)").alias("hash"))
    groups = hashed.groupBy("start").agg(F.count("*").alias("rows"), F.sum("hash").alias("checksum")).collect()
    return _contents(((g["start"], g["rows"], g["checksum"]) for g in groups), column)


def with_hash(rows: DataFrame) -> DataFrame:
    """Return the rows, of any columns, with `__hash` (long): what `content_of_collected` takes."""
    return rows.withColumn(HASH, row_hash(rows.schema))


def content_of_collected(rows: pa.Table, column: str) -> tuple[pa.Table, Mapping[datetime, Content]]:
    """Count and checksum rows per interval as `content_of` does, of `with_hash` rows that were brought to the driver.

    Returns:
        The rows without their hashes, and the contents by the interval's start (UTC).

    Raises:
        RefusedError: a row belongs to no interval.
    """
    hashes = rows.column(HASH).cast(pa.decimal128(38, 0))  # a sum of long integers would run over
    starts = rows.column(column).cast(pa.int64())
    groups = (
        pa.table({"start": starts, "hash": hashes}).group_by("start").aggregate([("hash", "count"), ("hash", "sum")])
    )
    counted = zip(*(groups.column(name).to_pylist() for name in ("start", "hash_count", "hash_sum")), strict=True)
    return rows.drop_columns([HASH]), _contents(counted, column)


def _contents(groups: Iterable[tuple[int | None, int, Decimal]], column: str) -> Mapping[datetime, Content]:
    """Return contents by start, from starts in microseconds, counts and checksums."""
    contents = {}
    for start, rows, checksum in groups:
        if start is None:
            raise RefusedError(
                f"{rows} result rows have no {column!r}: they belong to no interval.",
                fix="let the transform give every row its time, or leave such rows out.",
            )
        contents[instant(start)] = Content(rows, f"{checksum:f}")
    return dict(sorted(contents.items()))


def row_hash(schema: StructType) -> Column:
    """Hash a row over its columns in the order of their names, so that a table's column order does not matter.

    Spark's hash passes over nulls. So each value comes with a number that stands for its column: (1, null) is not
    (null, 1), and a row is the same after its table got a column that is null in it.
    """
    fields = sorted(schema.fields, key=lambda field: field.name)
    parts = ((_mark(field.name), _hashable(named(field.name), field.dataType)) for field in fields)
    return F.xxhash64(*(part for pair in parts for part in pair))


def _hashable(value: Column, kind: DataType) -> Column:
    """Return a value in which each map is the sorted array of its entries: Spark hashes none, as their order varies.

    Around maps, numbers stand for the places of what may be null or empty, which Spark's hash passes over.
    """
    if not _has_map(kind):
        return value
    match kind:
        case MapType():
            entries = F.transform(F.map_entries(value), lambda e: F.struct(e.key, _hashable(e.value, kind.valueType)))
            return F.array_sort(entries)
        case ArrayType():
            return F.transform(value, lambda each, place: F.struct(place, _hashable(each, kind.elementType)))
        case StructType():
            held = [(value.getField(each.name), each.dataType) for each in kind.fields]
            marks = [F.when(part.isNotNull(), F.lit(place)) for place, (part, _) in enumerate(held)]
            return F.when(value.isNotNull(), F.struct(F.lit(0), *marks, *(_hashable(*each) for each in held)))
    return value


def _has_map(kind: DataType) -> bool:
    match kind:
        case MapType():
            return True
        case ArrayType():
            return _has_map(kind.elementType)
        case StructType():
            return any(_has_map(field.dataType) for field in kind.fields)
    return False


def _mark(column: str) -> Column:
    number = int.from_bytes(hashlib.sha256(column.encode()).digest()[:8], signed=True)
    return F.when(named(column).isNotNull(), F.lit(number).cast("long"))


def named(column: str) -> Column:
    """Return a column by its name, whatever characters are in it."""
    return F.col(f"`{column.replace('`', '``')}`")
