"""The checksum of an interval: the same for the same rows, and for no others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import RefusedError
from sluice.intervals.entries import Content
from sluice.spark.records.content import content_of, content_of_collected, with_hash

TEN = datetime(2013, 11, 3, 10, tzinfo=UTC)
Row = tuple[int, str | None, str | None, float | None]
ROWS: list[Row] = [
    (10, "AA", "x", 1.5),
    (10, "AA", None, None),
    (10, None, "AA", 0.1),
    (10, "B6", "y", float("nan")),
    (11, "AA", "x", 1.5),
]


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    data = [(f"2013-11-03T{hour}:00:00Z", *values) for hour, *values in rows]
    named = spark.createDataFrame(data, "hour string, carrier string, `air.line` string, delay double")
    return named.withColumn("hour", F.to_timestamp("hour"))


def test_rows_are_counted_and_summed_up_per_interval(spark: SparkSession) -> None:
    content = content_of(frame(spark, ROWS), "hour")
    assert {start: found.rows for start, found in content.items()} == {TEN: 4, TEN + timedelta(hours=1): 1}
    assert all(str(int(found.checksum)) == found.checksum for found in content.values())


def test_equal_rows_have_equal_checksums_in_any_order_of_rows_partitions_and_columns(spark: SparkSession) -> None:
    content = content_of(frame(spark, ROWS), "hour")
    turned = frame(spark, ROWS[::-1]).repartition(5).select("delay", "`air.line`", "hour", "carrier")
    assert content_of(turned, "hour") == content


def test_rows_that_were_brought_to_the_driver_amount_to_the_same(spark: SparkSession) -> None:
    rows = frame(spark, ROWS)
    found, content = content_of_collected(with_hash(rows).toArrow(), "hour")
    assert (content, list(content)) == (content_of(rows, "hour"), sorted(content))
    assert (found.schema, found.num_rows) == (rows.toArrow().schema, len(ROWS))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([*ROWS, ROWS[0]], id="a row twice"),
        pytest.param(ROWS[1:], id="a row less"),
        pytest.param([(10, "AA", "x", 1.5000000000000002), *ROWS[1:]], id="a double's last bit"),
        pytest.param([(10, "AA", None, 1.5), *ROWS[1:]], id="a null for a value"),
        pytest.param([(10, "x", "AA", 1.5), *ROWS[1:]], id="two values exchanged"),
        pytest.param([ROWS[0], ROWS[1], (10, "AA", None, 0.1), *ROWS[3:]], id="a value and a null exchanged"),
    ],
)
def test_any_change_of_an_interval_changes_its_content_and_no_other(spark: SparkSession, changed: list[Row]) -> None:
    before, after = content_of(frame(spark, ROWS), "hour"), content_of(frame(spark, changed), "hour")
    assert after[TEN].checksum != before[TEN].checksum
    assert after[TEN + timedelta(hours=1)] == before[TEN + timedelta(hours=1)]


NESTED = "hour timestamp, loads map<string, array<map<string, int>>>, of struct<names: map<int, string>>"


def nested(spark: SparkSession, loads: object, names: object) -> str:
    return content_of(spark.createDataFrame([(TEN, loads, names)], NESTED), "hour")[TEN].checksum


def test_a_map_has_the_checksum_of_its_entries_in_whatever_order_they_are(spark: SparkSession) -> None:
    loads = {"a": [{"x": 1, "y": 2}, {}], "b": None}
    turned = {"b": None, "a": [{"y": 2, "x": 1}, {}]}
    found = nested(spark, loads, ({1: "one", 2: "two"},))
    assert nested(spark, turned, ({2: "two", 1: "one"},)) == found
    others = [
        ({"a": [{"x": 1, "y": 3}, {}], "b": None}, ({1: "one", 2: "two"},)),
        ({"a": [{}, {"x": 1, "y": 2}], "b": None}, ({1: "one", 2: "two"},)),
        ({"a": [{"x": 1, "y": 2}, {}]}, ({1: "one", 2: "two"},)),
        (loads, ({1: "two", 2: "one"},)),
        (loads, (None,)),
        (loads, None),
    ]
    assert len({found, *(nested(spark, *other) for other in others)}) == len(others) + 1


def test_the_sum_outgrows_the_hash(spark: SparkSession) -> None:
    equal = spark.range(1_000).select(F.lit(TEN).alias("hour"), F.lit("AA").alias("carrier"))
    one = content_of(equal.limit(1), "hour")[TEN]
    assert content_of(equal, "hour")[TEN] == Content(1_000, str(1_000 * int(one.checksum)))
    assert abs(1_000 * int(one.checksum)) > 2**64


def test_no_rows_are_no_content(spark: SparkSession) -> None:
    assert content_of(frame(spark, ROWS).limit(0), "hour") == {}


def test_a_row_without_its_interval_is_refused(spark: SparkSession) -> None:
    rows = frame(spark, ROWS).withColumn("hour", F.when(F.col("carrier") == "AA", F.col("hour")))
    with pytest.raises(RefusedError, match="2 result rows have no 'hour'"):
        content_of(rows, "hour")


def test_what_the_ledger_adds_up_is_what_the_whole_amounts_to(spark: SparkSession) -> None:
    whole = content_of(frame(spark, ROWS), "hour")[TEN]
    parts = [content_of(frame(spark, part), "hour")[TEN] for part in (ROWS[:1], ROWS[1:])]
    assert Content(sum(p.rows for p in parts), str(sum(int(p.checksum) for p in parts))) == whole
