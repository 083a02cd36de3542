"""What the hand-written peers of the benchmarks compute. It shares no code with the product but where its jars lie."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.streaming.query import StreamingQuery

from sluice.settings import settings


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


def on_time_flights(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """Read the topic as a stream, and leave out what is late, early or a heartbeat."""
    schema = (
        "flight_id long, carrier string, flight long, origin string, dest string, tailnum string, "
        "scheduled_at timestamp, observed_at timestamp, departed_at timestamp, "
        "dep_delay_min long, cancelled boolean, heartbeat boolean"
    )
    return (
        records(spark, bootstrap, topic)
        .select(F.from_json(F.col("value").cast("string"), schema).alias("v"))
        .select("v.*")
        .where("observed_at - scheduled_at <= interval 3 hours and scheduled_at - observed_at <= interval 1 hour")
        .withWatermark("scheduled_at", "4 hours")
        .where("heartbeat is null or not heartbeat or scheduled_at is null")
    )


def records(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """Read the topic as a stream."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )


def write_by_hour(rows: DataFrame, folder: Path, table: str) -> StreamingQuery:
    """Start a query that reads all there is and appends its rows to a table, one file an hour; they have an `hour`."""
    return (
        rows.repartition(2, "hour")
        .writeStream.format("delta")
        .outputMode("append")
        .partitionBy("hour")
        .option("checkpointLocation", str(folder / "checkpoints" / table))
        .trigger(availableNow=True)
        .start(str(folder / "tables" / table))
    )


def tuned_session(folder: Path) -> SparkSession:
    """Return a session with the settings that an expert gives a small job."""
    return (
        _session(folder)
        .config("spark.driver.memory", "700m")
        .config("spark.driver.extraJavaOptions", "-Xss16m -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


def default_session(folder: Path) -> SparkSession:
    """Return a session with nothing but what Delta and Kafka need."""
    return _session(folder).getOrCreate()


def _session(folder: Path) -> SparkSession.Builder:
    jars = sorted((settings().jars / "spark").glob("*.jar"))
    return (
        SparkSession.Builder()
        .master("local[2]")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
