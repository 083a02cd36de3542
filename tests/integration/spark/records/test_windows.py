"""Where the windows of an interval table may begin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import SpecError
from sluice.spark.records.pipeline import INTERVAL, partitioned
from sluice.spark.records.windows import refuse_other_windows
from sluice.specs.model.outputs import IntervalsOutput
from sluice.streams.failures.classification import Thrown, classify
from sluice.streams.failures.failure import FailureClass

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


HOURLY = IntervalsOutput(table="out", time_column="at", window=HOUR, interval="hour")
DAILY = IntervalsOutput(table="out", time_column="at", window=timedelta(days=1), interval="day")
UNREADABLE = "30 " + "minutes"


def grouped(spark: SparkSession, *groups: Column) -> DataFrame:
    name = "session_window" if "session" in str(groups[0]) else "window"
    counted = rows(spark, "2013-01-01 05:00:00").groupBy(*groups).count()
    return counted.select(F.col(f"{name}.start").alias("at"), "count")


@pytest.mark.parametrize(
    ("group", "output", "words"),
    [
        (lambda: F.window("at", UNREADABLE), HOURLY, "its windows are 30 minutes long, and the spec declares 1 hour"),
        (lambda: F.window("at", "2 hours"), HOURLY, "write `lookahead: 1 hour`"),
        (lambda: F.window("at", "1 day", startTime="5 hours"), DAILY, "write `lookahead: 5 hours`"),
        (lambda: F.window("at", "1 hour", "10 minutes"), HOURLY, "write `lookahead: 50 minutes`"),
        (lambda: F.window("at", "1 hour", "1 minute"), HOURLY, "reach up to 59 minutes beyond the hour"),
        (lambda: F.session_window("at", "5 minutes"), HOURLY, "return `session_window.end` as the time column"),
    ],
)
def test_windows_that_are_not_the_declared_ones_are_refused_before_a_row_is_made(
    spark: SparkSession, group: Callable[[], Column], output: IntervalsOutput, words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        refuse_other_windows(grouped(spark, group()), output)


def test_the_declared_windows_pass_and_so_do_rows_without_any(spark: SparkSession) -> None:
    refuse_other_windows(grouped(spark, F.window("at", "60 minutes")), HOURLY)
    refuse_other_windows(grouped(spark, F.window("at", "1 day", startTime="0 seconds")), DAILY)
    refuse_other_windows(rows(spark, "2013-01-01 05:00:00"), HOURLY)
    ten = rows(spark, "2013-01-01 05:00:00").groupBy(F.window("at", "10 minutes")).count()
    again = ten.groupBy(F.window(F.window_time("window"), "1 hour")).count()
    refuse_other_windows(again.select(F.col("window.start").alias("at")), HOURLY)
