"""The backfill of `departures` as a good engineer writes it by hand in PySpark: the peer of the benchmark `backfill`.

Usage: python -m benchmarks.backfill.backfill_pyspark <raw table> <airlines.csv> <output table> <jars> <once|plain>

It does what the specs say and no more: the same range, the same records refused, one overwrite of the range. It has no
ledger, comparison, checksum, quality gate, stage, report or protection against a stream that writes at the same time.
`plain` decodes as the documentation of Spark shows it; Spark then parses a record once for every filter behind it.
`once` knows the remedy, a generator, and is the peer that counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from benchmarks.by_hand import departures

FROM, TO = "2013-01-01 00:00:00", "2014-01-02 00:00:00"
SCHEMA = (
    "flight_id long, carrier string, flight long, origin string, dest string, tailnum string, scheduled_at timestamp, "
    "observed_at timestamp, departed_at timestamp, dep_delay_min long, cancelled boolean, distance_miles long, "
    "heartbeat boolean"
)
REQUIRED = ["flight_id", "carrier", "flight", "origin", "dest", "scheduled_at", "observed_at", "cancelled"]


def start_spark(jars: str) -> SparkSession:
    """Start a session of the pipeline's size: two cores, 700 MB, as many shuffle partitions as cores."""
    return (
        SparkSession.builder.appName("backfill-by-hand")
        .master("local[2]")
        .config("spark.driver.memory", "700m")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(Path(jars).glob("*.jar"))))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


def valid_flights(raw: DataFrame, decoding: str) -> DataFrame:
    """Decode the records of the range and keep those that are complete, plausible and on time."""
    records = raw.where((F.col("event_time") >= FROM) & (F.col("event_time") < TO))
    value = F.from_json(F.col("value").cast("string"), SCHEMA)
    once = decoding == "once"
    flights = records.select(F.inline(F.array(value))) if once else records.select(value.alias("v")).select("v.*")
    return (
        flights.dropna(subset=REQUIRED)
        .where("heartbeat is null or not heartbeat")
        .where("origin in ('EWR', 'JFK', 'LGA')")
        .where("flight_id >= 0 and (distance_miles is null or distance_miles >= 0)")
        .where("dep_delay_min is null or dep_delay_min between -720 and 2880")
        .where("observed_at - scheduled_at <= interval 3 hours and scheduled_at - observed_at <= interval 1 hour")
    )


def main(raw_table: str, airlines_file: str, output_table: str, jars: str, decoding: str) -> None:
    """Replace the range of the output table."""
    spark = start_spark(jars)
    airlines = spark.read.csv(airlines_file, header=True)
    rows = departures(valid_flights(spark.read.format("delta").load(raw_table), decoding), F.broadcast(airlines))
    (
        rows.repartition("hour")  # one file per hour
        .write.format("delta")
        .mode("overwrite")
        .option("replaceWhere", f"hour >= '{FROM}' and hour < '{TO}'")
        .save(output_table)
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
