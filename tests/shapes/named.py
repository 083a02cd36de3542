"""A transform over the flights and a static input; `named_in_sql.sql` says the same."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


def named(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
    """Name the airlines of the flights of each hour."""
    counted = flights.groupBy(F.window("scheduled_at", "1 hour"), "carrier").agg(F.count("*").alias("flights"))
    return counted.join(airlines, "carrier", "left").select(
        F.col("window.start").alias("at"), "carrier", F.col("name").alias("airline"), "flights"
    )
