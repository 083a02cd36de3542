"""Departures per hour, airport and carrier."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

DELAYED_FROM_MINUTES = 15


def departures(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
    """Count flights in windows of one hour of their scheduled departure.

    Delays are in minutes and negative for early departures. Without a departure the sum is 0 and the maximum null.
    """
    departed = F.col("departed_at").isNotNull()
    delay = F.when(departed, F.col("dep_delay_min"))
    counted = flights.groupBy(F.window("scheduled_at", "1 hour"), "origin", "carrier").agg(
        F.count_if(departed).alias("departed"),
        F.count_if(F.col("cancelled")).alias("cancelled"),
        F.count_if(delay >= DELAYED_FROM_MINUTES).alias("delayed_15"),
        F.coalesce(F.sum(delay), F.lit(0).cast("long")).alias("delay_sum_min"),
        F.max(delay).alias("delay_max_min"),
    )
    return counted.join(F.broadcast(airlines), "carrier", "left").select(
        "origin",
        "carrier",
        F.col("name").alias("airline"),
        F.col("window.start").alias("hour"),
        "departed",
        "cancelled",
        "delayed_15",
        "delay_sum_min",
        "delay_max_min",
    )
