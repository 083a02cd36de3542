"""What the table holds against what was computed: one aggregation over both, row by row within each interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.intervals.backfill.parity import Counts
from sluice.intervals.backfill.trial import RowDifference
from sluice.intervals.entries import NO_ROWS, Content
from sluice.spark.records.content import named, row_hash
from sluice.spark.records.instants import instant
from sluice.specs.model.outputs import IntervalsOutput

_SIDES = ("table", "computed")
_SAMPLES = 20
_SAMPLE_COLUMNS = 4


@dataclass(frozen=True)
class IntervalComparison:
    """Both sides of one interval.

    Attributes:
        table: what the table holds.
        computed: what was computed.
        counts: how their rows relate; late records are not counted here.
    """

    table: Content = NO_ROWS
    computed: Content = NO_ROWS
    counts: Counts = field(default_factory=Counts)


def compare(
    table: DataFrame, computed: DataFrame, output: IntervalsOutput, column: str, *, sampled: bool = True
) -> dict[datetime, IntervalComparison]:
    """Compare rows as multisets, per interval; intervals without rows on both sides are not in the result.

    Rows are matched by the declared keys within a window; without keys, by all their columns: then a row is identical,
    missing or extra, never different.

    Args:
        table: rows of the output table, with its columns; `column` is a timestamp.
        computed: rows as `result_rows` returns them. A column that only one side has is null on the other: the table
            got it later.
        output: the table's declaration.
        column: the partition column.
        sampled: whether the counts get a few of the differences, in words.

    Returns:
        By the interval's start (UTC).
    """
    table, computed = _alike(table, computed)
    keys, values = _keys_and_values(table.columns, output, column)
    both = _both(table, computed, column)
    per_key = both.groupBy("_start", *map(named, keys))
    groups = per_key.agg(*_counted())
    by_interval = {_start(row): _compared(row) for row in _per_interval(groups, keyed=bool(output.keys)).collect()}
    if sampled and any(compared.counts.differences for compared in by_interval.values()):
        for row in (
            _examples(per_key.agg(*_counted(), *_one_of_each_side(values)), keys, values).limit(_SAMPLES).collect()
        ):
            compared = by_interval[_start(row)]
            samples = (*compared.counts.samples, difference_text(row, keys, values))
            by_interval[_start(row)] = replace(compared, counts=replace(compared.counts, samples=samples))
    return by_interval


def all_differences(
    table: DataFrame, computed: DataFrame, output: IntervalsOutput, column: str
) -> Iterator[RowDifference]:
    """Yield every difference between rows that `compare` counts, in order; its arguments, but of the same columns."""
    keys, values = _keys_and_values(table.columns, output, column)
    groups = _both(table, computed, column).groupBy("_start", *map(named, keys))
    examples = _examples(groups.agg(*_counted(), *_one_of_each_side(values)), keys, values)
    return (_difference(row, keys, values) for row in examples.toLocalIterator())


def _keys_and_values(columns: Sequence[str], output: IntervalsOutput, column: str) -> tuple[list[str], list[str]]:
    """Return the columns by which rows are matched, and the others but for the partition column."""
    keys = [output.time_column, *output.keys] if output.keys else sorted(columns)
    return keys, [name for name in sorted(columns) if name not in {*keys, column}]


def _alike(table: DataFrame, computed: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return both sides with all columns of either."""
    whole = table.limit(0).unionByName(computed.limit(0), allowMissingColumns=True).schema

    def filled(side: DataFrame) -> DataFrame:
        have = set(side.columns)
        return side.select(
            *(named(f.name) if f.name in have else F.lit(None).cast(f.dataType).alias(f.name) for f in whole)
        )

    return filled(table), filled(computed)


def difference_text(row: Row, keys: Sequence[str], values: Sequence[str]) -> str:
    """Return one difference as text.

    Args:
        row: `key_*`, `table_rows`, `computed_rows`, and `table_*` and `computed_*` per value, all text but the counts.
        keys: names of the key columns.
        values: names of the others.
    """
    which = " ".join(f"{name}={_text(row[f'key_{name}'])}" for name in keys)
    held, computed = row["table_rows"], row["computed_rows"]
    if not held or not computed:
        word = "extra" if held else "missing"
        return f"{which}: {word}" + (f", {held or computed} times" if held + computed > 1 else "")
    if held != computed:
        return f"{which}: {held} rows, computed {computed}"
    pairs = [(name, row[f"table_{name}"], row[f"computed_{name}"]) for name in values]
    unlike = [f"{name} {_text(a)}, computed {_text(b)}" for name, a, b in pairs if a != b]
    return f"{which}: {'; '.join(unlike[:_SAMPLE_COLUMNS]) or 'other values'}"


def _both(table: DataFrame, computed: DataFrame, column: str) -> DataFrame:
    """Return the rows of both sides.

    Beside their own columns they have `_start` (long: the interval's start in microseconds), `_hash` (decimal) and
    `_side` (`table` or `computed`).
    """
    columns = sorted(table.columns)
    start = F.unix_micros(named(column)).alias("_start")
    sides = [
        frame.select(*map(named, columns), start, _hash_of(frame, columns), F.lit(side).alias("_side"))
        for side, frame in zip(_SIDES, (table, computed), strict=True)
    ]
    return sides[0].unionByName(sides[1])


def _hash_of(frame: DataFrame, columns: Sequence[str]) -> Column:
    schema = StructType([frame.schema[name] for name in columns])
    return row_hash(schema).cast("decimal(38,0)").alias("_hash")


def _counted() -> list[Column]:
    """Aggregates of one key's rows: how many, and their checksum, on either side."""
    aggregates = []
    for side in _SIDES:
        here = F.col("_side") == side
        checksum = _or_zero(F.sum(F.when(here, F.col("_hash"))))
        aggregates += [F.count_if(here).alias(f"{side}_rows"), checksum.alias(f"{side}_sum")]
    return aggregates


def _one_of_each_side(values: Sequence[str]) -> list[Column]:
    """Aggregates of one key's rows: the values of one on either side. Dear, so only checked where there is need."""
    example = F.struct(F.lit(0).alias("_"), *map(named, values))
    return [
        F.first(F.when(F.col("_side") == side, example), ignorenulls=True).alias(f"{side}_example") for side in _SIDES
    ]


def _per_interval(groups: DataFrame, *, keyed: bool) -> DataFrame:
    """Return counts per interval.

    Args:
        groups: one row per key: `_start` and the columns of `_counted`.
        keyed: whether the key is declared; otherwise it is the whole row.

    Returns:
        `_start`; `identical`, `missing`, `extra` and `different` (long); rows and checksum of each side.
    """
    table, computed = F.col("table_rows"), F.col("computed_rows")
    counts = {
        "identical": F.when(_same(), computed) if keyed else F.least(table, computed),
        "missing": F.when(table == 0, computed) if keyed else F.greatest(computed - table, F.lit(0)),
        "extra": F.when(computed == 0, table) if keyed else F.greatest(table - computed, F.lit(0)),
        "different": F.when((table > 0) & (computed > 0) & ~_same(), F.greatest(table, computed))
        if keyed
        else F.lit(0),
    }
    sums = [_or_zero(F.sum(count)).cast("long").alias(name) for name, count in counts.items()]
    contents = [F.sum(f"{side}_{part}").alias(f"{side}_{part}") for side in _SIDES for part in ("rows", "sum")]
    return groups.groupBy("_start").agg(*sums, *contents)


def _examples(groups: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Return the keys that differ, in order, as `difference_text` takes them.

    The columns are `_start`, `table_rows`, `computed_rows` and, as strings, `key_<name>` of each key, and
    `table_<name>` and `computed_<name>` of each value.
    """
    texts = [named(name).cast("string").alias(f"key_{name}") for name in keys]
    for side in _SIDES:
        texts += [F.col(f"{side}_example").getField(n).cast("string").alias(f"{side}_{n}") for n in values]
    unlike = groups.where(~_same()).orderBy("_start", *map(named, keys))
    return unlike.select("_start", "table_rows", "computed_rows", *texts)


def _difference(row: Row, keys: Sequence[str], values: Sequence[str]) -> RowDifference:
    held, computed = row["table_rows"], row["computed_rows"]
    unlike = [name for name in values if not (held and computed) or row[f"table_{name}"] != row[f"computed_{name}"]]
    return RowDifference(
        interval=_start(row),
        key={name: row[f"key_{name}"] for name in keys},
        old_rows=held,
        new_rows=computed,
        old={name: row[f"table_{name}"] for name in unlike} if held else {},
        new={name: row[f"computed_{name}"] for name in unlike} if computed else {},
    )


def _compared(row: Row) -> IntervalComparison:
    counts = Counts(row["identical"], row["missing"], row["extra"], row["different"])
    return IntervalComparison(_content(row, "table"), _content(row, "computed"), counts)


def _content(row: Row, side: str) -> Content:
    return Content(row[f"{side}_rows"], f"{row[f'{side}_sum']:f}")


def _start(row: Row) -> datetime:
    return instant(row["_start"])


def _same() -> Column:
    return (F.col("table_rows") == F.col("computed_rows")) & (F.col("table_sum") == F.col("computed_sum"))


def _or_zero(column: Column) -> Column:
    return F.coalesce(column, F.lit(0).cast("decimal(38,0)"))


def _text(value: Any) -> str:  # noqa: ANN401  whatever a column holds
    return "null" if value is None else str(value)
