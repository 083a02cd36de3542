"""What DuckDB is asked about, and how its rows are compared with Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import cast

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.spark.backfill.duckdb_check import DuckDBCheck, difference
from sluice.spark.records.transforms import SelectTransform
from sluice.specs.model.outputs import IntervalsOutput

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = """\
SELECT window.start AS hour, cities.city, count(*) AS orders
FROM orders JOIN cities USING (shop)
GROUP BY window(ordered_at, '1 hour'), cities.city
"""
CITIES = pa.table({"shop": ["north"], "city": ["Oslo"]})


@dataclass
class Rows:
    """What the check needs of a DataFrame."""

    table: pa.Table

    def limit(self, most: int) -> Rows:
        return Rows(self.table.slice(0, most))

    def toArrow(self) -> pa.Table:  # noqa: N802  PySpark's name
        return self.table


def frame(table: pa.Table) -> DataFrame:
    return cast("DataFrame", Rows(table))


class Outgrown(Rows):
    """Rows that Spark does not send, because they are too large."""

    def limit(self, most: int) -> Rows:
        return Outgrown(self.table.slice(0, most))

    def toArrow(self) -> pa.Table:  # noqa: N802  the same
        why = "Total size of serialized results of 2 tasks (150.0 MiB) is bigger than spark.driver.maxResultSize"
        raise PySparkException(why)


def orders_of(interval: Interval) -> dict[str, DataFrame]:
    """Three orders in the interval, and one of the hour before."""
    times = [interval.start + timedelta(minutes=minute) for minute in (0, 20, 59, -1)]
    orders = pa.table({"ordered_at": pa.array(times, pa.timestamp("us", tz="UTC")), "shop": ["north"] * 4})
    return {"orders": frame(orders)}


def made(hours: int, orders: int = 3) -> pa.Table:
    starts = pa.array([NOON + n * HOUR for n in range(hours)], pa.timestamp("us", tz="UTC"))
    return pa.table({"hour": starts, "city": ["Oslo"] * hours, "orders": pa.array([orders] * hours, pa.int64())})


def compared(
    rows: pa.Table, hours: int, query: str = HOURLY, *, where: str | None = None
) -> tuple[CrossCheck, dict[Interval, str]]:
    output = IntervalsOutput(table="hourly", time_column="hour", interval="hour", where=where)
    check = DuckDBCheck(SelectTransform("hourly.sql", query), {"cities": frame(CITIES)}, output)
    intervals = [Interval(NOON + n * HOUR, NOON + (n + 1) * HOUR) for n in range(hours)]
    return check.compare(intervals, orders_of, lambda _: frame(rows))


def test_rows_that_both_make_are_borne_out() -> None:
    assert compared(made(3), 3) == (CrossCheck(3), {})


def test_of_many_intervals_some_are_chosen() -> None:
    assert compared(made(100), 100) == (CrossCheck(8), {})


def test_other_rows_are_shown_with_the_interval() -> None:
    check, found = compared(made(2, orders=4), 2)
    assert check == CrossCheck(2, 2)
    why = found[Interval(NOON, NOON + HOUR)]
    assert why.startswith("duckdb_differs: DuckDB makes other rows of the same records by the same SELECT;")
    assert "only Spark has 1 row such as {'hour': '2026-01-01T12:00:00+00:00', 'city': 'Oslo', 'orders': '4'}" in why
    assert "only DuckDB has 1 row such as" in why


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (HOURLY.replace("count(*)", "approx_count_distinct(shop)"), "approx_count_distinct() means another thing"),
        (HOURLY.replace("count(*)", "bit_reverse_all(shop)"), "DuckDB refuses it: Catalog Error"),
    ],
)
def test_what_it_cannot_answer_is_said_and_convicts_nobody(query: str, why: str) -> None:
    check, found = compared(made(2), 2, query)
    assert (check.intervals, found) == (0, {})
    assert why in check.not_asked
    assert check.text.startswith("not compared: ")


@pytest.mark.parametrize(
    ("spark", "duck"),
    [
        (pa.array([1.0 / 3]), pa.array([0.33333333333333331])),
        (pa.array([Decimal("1.50")]), pa.array([1.5])),
        (pa.array([3], pa.int64()), pa.array([Decimal(3)], pa.decimal128(38, 0))),
        (pa.array([NOON], pa.timestamp("us", tz="UTC")), pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))),
        (pa.array([{"a": [1]}]), pa.array([{"a": [1.0]}])),
        (pa.array([None], pa.int64()), pa.array([None], pa.string())),
    ],
)
def test_values_that_are_the_same_in_other_types_are_the_same(spark: pa.Array, duck: pa.Array) -> None:
    assert difference(pa.table({"x": spark}), pa.table({"x": duck})) == ""


@pytest.mark.parametrize(
    ("spark", "duck"),
    [([1, 1, 2], [1, 2, 2]), ([1], []), ([], [1]), ([1.0], [1.00001]), (["1"], [None]), ([True], [False])],
)
def test_rows_are_counted(spark: list[object], duck: list[object]) -> None:
    kind = pa.array(spark or duck).type
    assert difference(pa.table({"x": pa.array(spark, kind)}), pa.table({"x": pa.array(duck, kind)})) != ""


def test_rows_that_the_table_does_not_take_are_left_out_here_too() -> None:
    assert compared(made(2).slice(0, 0), 2, where="orders > 3") == (CrossCheck(2), {})
    assert compared(made(2), 2, where="orders > 2") == (CrossCheck(2), {})
    assert compared(made(2), 2, where="orders > 3")[0] == CrossCheck(2, 2)


def test_case_makes_no_other_time_column() -> None:
    assert compared(made(2), 2, HOURLY.replace("AS hour", "AS Hour")) == (CrossCheck(2), {})


@pytest.mark.parametrize("what", ["records", "rows", "static"])
def test_what_outgrows_the_driver_is_not_compared_and_fails_nothing(what: str) -> None:
    output = IntervalsOutput(table="hourly", time_column="hour", interval="hour")
    large = cast("DataFrame", Outgrown(CITIES))
    check = DuckDBCheck(
        SelectTransform("hourly.sql", HOURLY), {"cities": large if what == "static" else frame(CITIES)}, output
    )

    def behind(interval: Interval) -> dict[str, DataFrame]:
        return {"orders": large} if what == "records" and interval.start > NOON else orders_of(interval)

    def rows(_: Sequence[Interval]) -> DataFrame:
        return large if what == "rows" else frame(made(2))

    found, differing = check.compare([Interval(NOON + n * HOUR, NOON + (n + 1) * HOUR) for n in range(2)], behind, rows)
    assert (found.intervals, found.differing, differing) == (int(what == "records"), 0, {})
    assert "outgrow the driver (spark.driver.maxResultSize)" in found.not_asked
