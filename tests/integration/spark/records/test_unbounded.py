"""What Spark's plan shows of a transform that depends on how many intervals one call is given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import SpecError
from sluice.spark.records.unbounded import makes_rows_of_nothing, refuse_unbounded
from sluice.specs.model.outputs import IntervalsOutput

Transform = Callable[[DataFrame, DataFrame], DataFrame]


def by_time() -> WindowSpec:
    return Window.orderBy("at")


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    at = pa.array([datetime(2013, 1, 1, 5, tzinfo=UTC)], pa.timestamp("us", tz="UTC"))
    return spark.createDataFrame(pa.table({"at": at, "key": ["a"], "price": [1.0]}))


@pytest.fixture(scope="module")
def shops(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(pa.table({"key": ["a"], "size": [1]}))


def output(**declared: str) -> IntervalsOutput:
    return IntervalsOutput(table="out", time_column="at", interval="hour", **declared)  # type: ignore[arg-type]


REFUSED: list[tuple[Transform, str]] = [
    (lambda r, _: r.agg(F.max("price")), r"`groupBy\(\).agg\(max\(price\)"),
    (lambda r, _: r.where("price > 1").groupBy().count(), r"count\(1\)"),
    (lambda r, _: r.crossJoin(r.agg(F.max("price").alias("most"))), r"max\(price\)"),
    (lambda r, _: r.where(F.col("price") > r.select(F.max("price")).scalar()), r"max\(price\)"),
    (lambda r, s: r.join(s, "key").agg(F.max("size")), r"max\(size\)"),
    (lambda r, _: r.groupBy().applyInPandas(lambda rows: rows, r.schema), "one group of all records"),
    (lambda r, _: r.orderBy("price").limit(3), "`Limit 3` chooses"),
    (lambda r, _: r.select("at", F.percent_rank().over(Window.orderBy("price"))), "PERCENT_RANK.* compares"),
    (lambda r, _: r.selectExpr("at", "row_number() OVER (ORDER BY price)"), "row_number.* compares"),
    (lambda r, _: r.select("at", F.rank().over(Window.partitionBy(F.lit(1)).orderBy("price"))), "RANK"),
    (lambda r, _: r.select("at", F.sum("price").over(Window.partitionBy())), r"sum\(price\).* compares"),
]


@pytest.mark.parametrize(("transform", "words"), REFUSED)
def test_an_expression_over_everything_is_refused_unless_that_is_one_interval(
    records: DataFrame, shops: DataFrame, transform: Transform, words: str
) -> None:
    rows = transform(records, shops)
    with pytest.raises(SpecError, match=words):
        refuse_unbounded(rows, [records], output())
    refuse_unbounded(rows, [records], output(scope="interval"))


@pytest.mark.parametrize(
    "transform",
    [
        lambda r, _: r,
        lambda r, _: r.groupBy(F.window("at", "1 hour")).count(),
        lambda r, _: r.groupBy("key").count(),
        lambda r, _: r.dropDuplicates(["key"]).distinct(),
        lambda r, _: r.select("at", F.row_number().over(Window.partitionBy("key").orderBy("at"))),
        lambda r, _: r.select("at", F.lag("price").over(by_time()), F.lead("price").over(by_time())),
        lambda r, _: r.select("at", F.sum("price").over(by_time().rowsBetween(-5, 0))),
        lambda r, _: r.select("at", F.last("price", ignorenulls=True).over(by_time())),
        lambda r, s: r.crossJoin(s.agg(F.max("size"))),
        lambda r, s: r.join(s.withColumn("n", F.rank().over(Window.orderBy("size"))).limit(3), "key"),
    ],
)
def test_what_may_be_right_passes(records: DataFrame, shops: DataFrame, transform: Transform) -> None:
    refuse_unbounded(transform(records, shops), [records], output())


def test_one_group_of_everything_is_a_row_even_of_nothing(records: DataFrame) -> None:
    assert makes_rows_of_nothing(records.agg(F.max("price")).withColumn("one", F.lit(1)))
    assert not makes_rows_of_nothing(records.groupBy("key").agg(F.max("price")))
