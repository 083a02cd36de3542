"""Rows of the raw table by the places of their records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import RefusedError
from sluice.intervals.record_positions import PartitionRange, RecordPositions

MAX_PIECES = 50_000
"""Ranges of offsets that a case may have: they are kept in the table's log."""

_WHERE = ("topic_id", "partition")
_RANGES = pa.schema(
    {"_topic": pa.string(), "_partition": pa.int32(), "_first": pa.int64(), "_last": pa.int64()}.items()
)


def rows_at(rows: DataFrame, positions: RecordPositions, spark: SparkSession) -> DataFrame:
    """Return the rows at some positions. Files without any of them are skipped by their offsets.

    Args:
        rows: of the raw table. Read are `topic_id`, `partition` and `offset`; all columns are returned.
        positions: which.
        spark: the session.
    """
    pieces = list(positions.pieces())
    if not pieces:
        return rows.limit(0)
    near = rows.where(reduce(or_, (_between(*span) for span in _spans(pieces))))
    return _joined(near, pieces, spark, "left_semi")


def rows_elsewhere(rows: DataFrame, positions: RecordPositions, spark: SparkSession) -> DataFrame:
    """Return the rows that are at none of some positions; arguments and columns are those of `rows_at`."""
    pieces = list(positions.pieces())
    return _joined(rows, pieces, spark, "left_anti") if pieces else rows


def _joined(rows: DataFrame, pieces: Sequence[PartitionRange], spark: SparkSession, how: str) -> DataFrame:
    columns = zip(*((topic, partition, first, last) for topic, partition, (first, last) in pieces), strict=True)
    ranges = F.broadcast(spark.createDataFrame(pa.table([list(column) for column in columns], schema=_RANGES)))
    same = (rows["topic_id"] == ranges["_topic"]) & (rows["partition"] == ranges["_partition"])
    return rows.join(ranges, same & rows["offset"].between(ranges["_first"], ranges["_last"]), how)


def positions_of(rows: DataFrame) -> RecordPositions:
    """Return the positions of rows. Neighbours are joined in Spark, so the driver gets ranges and not records.

    Args:
        rows: `topic_id`, `partition` and `offset`.

    Raises:
        RefusedError: there are more ranges than a case may have.
    """
    where = [F.col(name) for name in _WHERE]
    island = F.col("offset") - F.row_number().over(Window.partitionBy(*where).orderBy("offset"))
    numbered = rows.select(*where, "offset").distinct().withColumn("_island", island)
    ends = (F.min("offset").alias("first"), F.max("offset").alias("last"))
    ranges = numbered.groupBy(*where, "_island").agg(*ends).limit(MAX_PIECES + 1).collect()
    if len(ranges) > MAX_PIECES:
        raise RefusedError(
            f"these records lie in more than {MAX_PIECES:,} separate ranges of offsets.",
            fix="choose fewer: by reason, time, partition or offsets.",
        )
    return RecordPositions.joined((row["topic_id"], row["partition"], (row["first"], row["last"])) for row in ranges)


def _spans(pieces: Iterable[PartitionRange]) -> list[tuple[str, int, int, int]]:
    """Return the first and the last offset for each partition."""
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for topic, partition, (first, last) in pieces:
        low, high = spans.get((topic, partition), (first, last))
        spans[topic, partition] = min(low, first), max(high, last)
    return [(topic, partition, low, high) for (topic, partition), (low, high) in spans.items()]


def _between(topic: str, partition: int, first: int, last: int) -> Column:
    return (F.col("topic_id") == topic) & (F.col("partition") == partition) & F.col("offset").between(first, last)
