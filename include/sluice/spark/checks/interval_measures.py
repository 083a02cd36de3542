"""What the rows of each interval say to expectations about intervals: a few aggregations for all of them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ParamSpec, TypeVar, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.measured import Measured
from sluice.spark.records.content import named
from sluice.spark.records.instants import instant
from sluice.spark.records.predicates import considered, unexpected
from sluice.specs.expectations.model import Expectation
from sluice.specs.expectations.row_level import ROW_LEVEL
from sluice.specs.expectations.set_level import OF_ROWS, OF_SETS, UNIQUE

P = ParamSpec("P")
R = TypeVar("R")

Found = Measured | str
"""What was measured, or why nothing could be."""

START = "_start"
"""The column with the start of a row's interval, in microseconds."""
_WIDTH = 120
_PARTS = ("rows", "value", "unexpected", "sample")


@dataclass(frozen=True)
class _Asked:
    """The aggregates of one expectation: numbers of rows, a value, and one unexpected row as text."""

    rows: Column
    value: Column | None = None
    unexpected: Column | None = None
    sample: Column | None = None


def measure(
    rows: DataFrame, column: str, starts: Sequence[datetime], expectations: Sequence[Expectation]
) -> dict[datetime, list[Found]]:
    """Measure what Great Expectations has names for; what only Sluice has is not measured here.

    Args:
        rows: of these intervals, with the columns of the output table. They are read once for all expectations but
            those of uniqueness, and once for each of these.
        column: the partition column: the start of a row's interval.
        starts: of the intervals (UTC); those without rows are measured, too.
        expectations: those `on: [interval]`.

    Returns:
        For each interval, what was found of each expectation, in their order. One that cannot be evaluated says why,
        and keeps none of the others from being.
    """
    marked = rows.withColumn(START, F.unix_micros(named(column)))
    together = [number for number, each in enumerate(expectations) if each.expect not in UNIQUE]
    measured: dict[int, dict[datetime, Measured] | str] = _aggregated(marked, {n: expectations[n] for n in together})
    for number, each in enumerate(expectations):
        if each.expect in UNIQUE:
            measured[number] = value_or_error(_repeated, marked, each)
    return {start: [_of(measured[n], start, each) for n, each in enumerate(expectations)] for start in starts}


def _of(measured: Mapping[datetime, Measured] | str, start: datetime, expectation: Expectation) -> Found:
    if isinstance(measured, str):
        return measured
    without_rows = Measured(rows=0, value=0.0) if expectation.expect in OF_ROWS else Measured(rows=0, unexpected=0)
    return measured.get(start, without_rows)


def _aggregated(rows: DataFrame, asked: Mapping[int, Expectation]) -> dict[int, dict[datetime, Measured] | str]:
    """Evaluate all in one aggregation; if that breaks, each alone, so that the one to blame is known."""
    built: dict[int, _Asked] = {}
    measured: dict[int, dict[datetime, Measured] | str] = {}
    for number, expectation in asked.items():
        try:
            built[number] = aggregates = _asked(expectation, rows)
            rows.agg(*_columns(number, aggregates))  # only analysed: names and types
        except Exception as error:  # noqa: BLE001 - arguments may be whatever the file says; the others are evaluated
            built.pop(number, None)
            measured[number] = error_text(error)
    with suppress(PySparkException):
        return measured | dict(_collected(rows, asked, built))
    for number, aggregates in built.items():
        alone = value_or_error(_collected, rows, asked, {number: aggregates})
        measured[number] = alone if isinstance(alone, str) else alone[number]
    return measured


def _collected(
    rows: DataFrame, asked: Mapping[int, Expectation], built: Mapping[int, _Asked]
) -> dict[int, dict[datetime, Measured]]:
    measured: dict[int, dict[datetime, Measured]] = {number: {} for number in built}
    if not built:
        return measured
    columns = [column for number, aggregates in built.items() for column in _columns(number, aggregates)]
    for row in rows.groupBy(START).agg(*columns).collect():
        for number in built:
            measured[number][instant(row[START])] = _measured(row, number, asked[number])
    return measured


def _columns(number: int, asked: _Asked) -> list[Column]:
    parts = {"rows": asked.rows, "value": asked.value, "unexpected": asked.unexpected, "sample": asked.sample}
    return [(F.lit(None) if column is None else column).alias(f"{part}_{number}") for part, column in parts.items()]


def _measured(row: Row, number: int, expectation: Expectation) -> Measured:
    rows, value, bad, sample = (row[f"{part}_{number}"] for part in _PARTS)
    samples = () if sample is None else (str(sample)[:_WIDTH],)
    if expectation.expect in ROW_LEVEL:
        value = bad
    return Measured(int(rows), None if value is None else float(value), bad, samples)


def _asked(expectation: Expectation, rows: DataFrame) -> _Asked:
    name, given = expectation.expect, cast("Mapping[str, Any]", expectation.kwargs)
    where = _where(expectation)
    if name in ROW_LEVEL:
        bad = unexpected(expectation, rows.schema)
        return _Asked(
            F.count_if(where & considered(expectation)),
            unexpected=F.count_if(bad),
            sample=F.first(F.when(bad, _text(expectation)), ignorenulls=True),
        )
    if name in OF_ROWS:
        return _Asked(F.count_if(where), F.count_if(where))
    column = F.when(where, named(str(given["column"])))
    if name in OF_SETS:
        return _of_set(expectation, column)
    return _Asked(F.count(column), _VALUES[name](column, F.count_if(where)))


def _of_set(expectation: Expectation, column: Column) -> _Asked:
    """What is missing of a set, and for `equal` what is in none: counted, so that no interval's values are gathered."""
    wanted = cast("list[Any]", expectation.kwargs.get("value_set") or [])
    missing = [F.when(F.count_if(column == F.lit(value)) == 0, F.lit(str(value))) for value in wanted]
    gone = [F.when(each.isNotNull(), 1).otherwise(0) for each in missing]
    foreign = ~column.isin(wanted) if wanted else column.isNotNull()
    bad: Column = sum(gone, F.lit(0))
    sample = F.coalesce(*missing, F.lit(None).cast("string"))
    if expectation.expect.endswith("equal_set"):
        bad = bad + F.count_distinct(F.when(foreign, column))
        sample = F.coalesce(sample, F.first(F.when(foreign, column), ignorenulls=True).cast("string"))
    return _Asked(F.count(column), bad, bad, sample)


_VALUES: Mapping[str, Callable[[Column, Column], Column]] = {
    "expect_column_max_to_be_between": lambda column, _: F.max(column),
    "expect_column_mean_to_be_between": lambda column, _: F.mean(column),
    "expect_column_median_to_be_between": lambda column, _: F.median(column),
    "expect_column_min_to_be_between": lambda column, _: F.min(column),
    "expect_column_proportion_of_non_null_values_to_be_between": lambda column, rows: F.try_divide(
        F.count(column), rows
    ),
    "expect_column_proportion_of_unique_values_to_be_between": lambda column, _: F.try_divide(
        F.count_distinct(column), F.count(column)
    ),
    "expect_column_stdev_to_be_between": lambda column, _: F.stddev_samp(column),
    "expect_column_sum_to_be_between": lambda column, _: F.sum(column),
    "expect_column_unique_value_count_to_be_between": lambda column, _: F.count_distinct(column),
}
"""The number that each is about, of a column and the number of rows."""


def _repeated(rows: DataFrame, expectation: Expectation) -> dict[datetime, Measured]:
    """Count the rows that share their values with another row of their interval.

    Args:
        rows: `START` (long, microseconds) and the columns of the expectation.
        expectation: about uniqueness.
    """
    given = cast("Mapping[str, Any]", expectation.kwargs)
    columns = [str(each) for each in given.get("column_list") or [given["column"]]]
    checked = rows.where(_where(expectation) & considered(expectation))
    per_value = checked.groupBy(START, *map(named, columns)).agg(F.count("*").alias("_rows"))
    shared = F.col("_rows") > 1
    text = F.first(F.when(shared, _text(expectation)), ignorenulls=True)
    counted = per_value.groupBy(START).agg(
        F.sum("_rows").alias("rows"), F.sum(F.when(shared, F.col("_rows")).otherwise(0)).alias("bad"), text.alias("one")
    )
    return {instant(row[START]): counted_rows(row) for row in counted.collect()}


def counted_rows(row: Row) -> Measured:
    """Return what was counted: rows, those that are bad, and one of these as text."""
    sample = () if row["one"] is None else (row["one"][:_WIDTH],)
    return Measured(row["rows"], float(row["bad"]), row["bad"], sample)


def _where(expectation: Expectation) -> Column:
    condition = expectation.kwargs.get("row_condition")
    return F.lit(True) if condition is None else F.coalesce(F.expr(f"({condition})"), F.lit(False))


def _text(expectation: Expectation) -> Column:
    """Return what is shown of an unexpected row: the columns that it was checked for; else the whole row."""
    columns = [each.strip() for each in expectation.subject.split(", ")] if expectation.subject != "table" else []
    if not columns:
        return F.to_json(F.struct("*"))
    if len(columns) == 1:
        return named(columns[0]).cast("string")
    parts = (F.concat(F.lit(f"{c}="), F.coalesce(named(c).cast("string"), F.lit("null"))) for c in columns)
    return F.concat_ws(", ", *parts)


def value_or_error(ask: Callable[P, R], *given: P.args, **more: P.kwargs) -> R | str:
    """Return what a function returns, or why it could not."""
    try:
        return ask(*given, **more)
    except Exception as error:  # noqa: BLE001 - whatever it is, it was not evaluated
        return error_text(error)


def error_text(error: Exception) -> str:
    """Return what an exception says, without Spark's stack trace: its message begins with what matters."""
    text = " ".join(str(error).partition("\n\tat ")[0].split())
    return f"{type(error).__name__}: {text}"[:500]
