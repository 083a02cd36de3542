"""One trial of the benchmark `drain`, in a process of its own: drain a topic once and print what it cost.

Usage: python -m benchmarks.drain_trial <sluice|plain> <bootstrap> <topic id> <folder>
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from benchmarks.by_hand import departures, on_time_flights
from sluice.settings import settings
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.stream_run import Stream
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.records.static import read_static
from sluice.spark.session.session import session
from sluice.spark.sinks.interval_stream import prepare_pipeline
from sluice.specs.code.static import locate
from sluice.specs.load import load_catalog
from sluice.streams.position.epochs import Epochs

TOPIC = "flights"


def cpu_seconds() -> float:
    """Return user and system time of this process and all its descendants, dead ones included.

    One that ends at this moment is looked for again: its time is then its parent's.
    """
    me = psutil.Process()
    while True:
        try:
            times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
        except psutil.NoSuchProcess:
            continue
        break
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def sluice(bootstrap: str, topic_id: str, folder: Path) -> dict[str, float]:
    """Drain through Sluice: the preset, validation, the transform, the sink with its ledger."""
    include, jars = settings().home / "include", settings().jars / "spark"
    catalog = load_catalog(include)
    pipeline, topic = catalog.pipelines["departures"], catalog.topics[TOPIC]
    spark = session("drain", pipeline.resources, jars=jars, warehouse=folder / "warehouse")
    static = {name: read_static(spark, s, locate(s, include)) for name, s in pipeline.static.items()}
    spark.range(1).collect()
    before, started = cpu_seconds(), time.monotonic()
    code = PipelineCode(pipeline, topic, static, code_hash="benchmark")
    source = KafkaTopic((bootstrap,), TOPIC, topic_id)
    raw, table, epoch = folder / "raw", folder / "table", Epochs(folder / "checkpoint").in_force()
    found = prepare_pipeline(spark, code, source, raw=raw, table=table, epoch=epoch, generation=1).open()
    stream = Stream("departures", found.rows, found.sink, epoch.checkpoint, 0, found.drops)
    exit_code = Driver([stream], {}).run(available_now=True)
    cost = {"cpu": cpu_seconds() - before, "wall": time.monotonic() - started}
    if exit_code:
        raise SystemExit(int(exit_code))
    return cost


def plain(bootstrap: str, folder: Path) -> dict[str, float]:
    """Drain as a user writes it by hand, with Spark's default settings."""
    jars = sorted((settings().jars / "spark").glob("*.jar"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    airlines = locate(load_catalog(settings().home / "include").pipelines["departures"].static["airlines"], Path())
    names = spark.read.csv(str(airlines), header=True)
    spark.range(1).collect()
    before, started = cpu_seconds(), time.monotonic()
    query = (
        departures(on_time_flights(spark, bootstrap, TOPIC), names)
        .writeStream.format("delta")
        .outputMode("append")
        .partitionBy("hour")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "table"))
    )
    query.awaitTermination()
    return {"cpu": cpu_seconds() - before, "wall": time.monotonic() - started}


if __name__ == "__main__":
    variant, brokers, identity, place = sys.argv[1:]
    figures = sluice(brokers, identity, Path(place)) if variant == "sluice" else plain(brokers, Path(place))
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the figures are taken; Spark's own shutdown is nobody's cost
