"""The hand-written peer of the benchmark `recover`: the same two queries, as a main that SparkSubmitOperator runs.

Usage (by spark-submit): recover_peer.py <bootstrap> <folder>
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

SCHEMA = (
    "flight_id long, carrier string, origin string, scheduled_at timestamp, departed_at timestamp, dep_delay_min long, "
    "cancelled boolean"
)


def main(bootstrap: str, folder: Path) -> None:
    """Copy the records, and count them per hour, airport and carrier, until killed."""
    spark = SparkSession.builder.getOrCreate()
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "flights")
        .option("startingOffsets", "earliest")
        .load()
    )
    flights = records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("v")).select("v.*")
    counted = (
        flights.withWatermark("scheduled_at", "4 hours")
        .groupBy(F.window("scheduled_at", "1 hour"), "origin", "carrier")
        .agg(F.count("departed_at").alias("departed"), F.count_if("cancelled").alias("cancelled"))
        .select(F.col("window.start").alias("hour"), "origin", "carrier", "departed", "cancelled")
    )
    for name, rows in {"raw": records.select("partition", "offset", "key", "value"), "departures": counted}.items():
        rows.writeStream.format("delta").outputMode("append").trigger(processingTime="2 seconds").option(
            "checkpointLocation", str(folder / "checkpoints" / name)
        ).start(str(folder / "tables" / name))
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
