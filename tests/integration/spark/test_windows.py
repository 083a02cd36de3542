"""Where the windows of an interval table may begin."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.pipeline import INTERVAL, partitioned
from sluice.specs.outputs import IntervalsOutput
from sluice.streams.classification import Thrown, classify
from sluice.streams.failure import FailureClass

HOUR = timedelta(hours=1)


def rows(spark: SparkSession, *starts: str | None) -> DataFrame:
    return spark.createDataFrame([(start,) for start in starts], "at string").select(F.to_timestamp("at").alias("at"))


@pytest.mark.parametrize("window", [HOUR, timedelta(minutes=20)])
def test_rows_on_the_grid_pass_as_they_are(spark: SparkSession, window: timedelta) -> None:
    output = IntervalsOutput(table="out", time_column="at", window=window, interval="hour")
    given = rows(spark, "2013-01-01 05:00:00", "1969-12-31 23:00:00", None)
    found = partitioned(given, output)
    assert sorted(map(str, found.select("at").collect())) == sorted(map(str, given.collect()))
    assert (INTERVAL in found.columns) == (window != HOUR)


@pytest.mark.parametrize(
    ("window", "interval", "start"),
    [
        pytest.param(HOUR, "hour", "2013-01-01 05:15:00", id="a sliding window"),
        pytest.param(timedelta(days=1), "day", "2013-01-01 05:00:00", id="a day of New York"),
        pytest.param(timedelta(minutes=20), "hour", "2013-01-01 05:00:00.000001", id="a microsecond beside"),
    ],
)
def test_the_first_row_off_the_grid_stops_the_query_with_what_to_do(
    spark: SparkSession, window: timedelta, interval: str, start: str
) -> None:
    output = IntervalsOutput(table="out", time_column="at", window=window, interval=interval)  # type: ignore[arg-type]
    with pytest.raises(PySparkException, match=r"out: a row's at is 2013-01-01 05:.* UTC, and windows of") as raised:
        # What a batch does with rows that it does not publish.
        partitioned(rows(spark, "2013-01-01 00:00:00", start), output).write.format("noop").mode("overwrite").save()
    kind, _ = classify([Thrown("pyspark.errors.PySparkException", str(raised.value))])
    assert kind is FailureClass.CODE, "started again it would fail again"
