"""Transforms whose rows are others in another computation. A project of the tests has this module as `faulty`."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


def by_order(flights: DataFrame) -> DataFrame:
    """Name some flight of each hour: whichever is read first."""
    counted = flights.groupBy(F.window("scheduled_at", "1 hour"), "origin").agg(F.first("flight_id").alias("flight_id"))
    return counted.select(F.col("window.start").alias("at"), "origin", "flight_id")


def by_cut(flights: DataFrame) -> DataFrame:
    """Number the flights of an airport, beginning with whatever is read."""
    order = Window.partitionBy("origin").orderBy("scheduled_at", "flight_id")
    return flights.select(F.col("scheduled_at").alias("at"), "flight_id", F.row_number().over(order).alias("number"))


def by_chance(flights: DataFrame) -> DataFrame:
    """Give each flight a number that nothing determines."""
    return flights.select(F.col("scheduled_at").alias("at"), "flight_id", F.rand().alias("number"))


def by_other_days(flights: DataFrame) -> DataFrame:
    """Make rows that lie where no record does."""
    return flights.select((F.col("scheduled_at") + F.expr("interval 2 days")).alias("at"), "flight_id")
