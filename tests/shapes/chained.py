"""Transforms over a settled table. A project of the tests has this module as `chained`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


def days(hours: DataFrame) -> DataFrame:
    """Add up the flights of each day from those of its hours."""
    counted = hours.groupBy(F.window("at", "1 day"), "origin").agg(F.sum("flights").alias("flights"))
    return counted.select(F.col("window.start").alias("at"), "origin", "flights")


def crowds(flights: DataFrame, hours: DataFrame) -> DataFrame:
    """Put beside each flight how many left its airport in the hour before its own."""
    before = hours.select("origin", F.col("at").alias("counted"), F.col("flights").alias("before"))
    follows = (before.origin == flights.origin) & (
        before.counted == F.date_trunc("hour", flights.scheduled_at) - F.expr("INTERVAL 1 HOUR")
    )
    return flights.join(before, follows, "left").select(flights.scheduled_at.alias("at"), "flight_id", F.col("before"))
