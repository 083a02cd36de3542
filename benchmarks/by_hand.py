"""What the hand-written peers of the benchmarks compute. It shares no code with the product."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


def departures(flights: DataFrame, airlines: DataFrame) -> DataFrame:
    """Count per hour, airport and carrier."""
    delay = F.when(F.col("departed_at").isNotNull(), F.col("dep_delay_min"))
    return (
        flights.groupBy(F.window("scheduled_at", "1 hour"), "origin", "carrier")
        .agg(
            F.count("departed_at").alias("departed"),
            F.count_if("cancelled").alias("cancelled"),
            F.count_if(delay >= 15).alias("delayed_15"),  # noqa: PLR2004  the job's own definition
            F.coalesce(F.sum(delay), F.lit(0)).cast("long").alias("delay_sum_min"),
            F.max(delay).alias("delay_max_min"),
        )
        .join(airlines, "carrier", "left")
        .select(
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
    )
