"""One trial of the benchmark `floor`, in a process of its own: micro-batches without a row, one after the other.

Usage: python -m benchmarks.floor_trial <sluice|default> <stateless|stateful> <folder> <warm> <batches> [recording]

With a recording (a file) the JVM writes down each process that it starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from benchmarks.trials import cpu_seconds
from sluice.settings import settings
from sluice.spark.session.session import session
from sluice.specs.model.resources import Resources


def main(variant: str, shape: str, folder: Path, counts: tuple[int, int], recording: Path | None) -> dict[str, Any]:
    """Run the batches, and return the median of their times, their CPU, and what was started meanwhile.

    Args:
        variant: whose settings.
        shape: of the query.
        folder: for the checkpoint.
        counts: how many batches are run and not counted (the JVM compiles), and how many are.
        recording: where the JVM writes what it starts.
    """
    warm, batches = counts
    spark = _session(variant, folder)
    query = (
        _rows(spark, shape)
        .writeStream.outputMode("append")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .format("noop")
        .start()
    )
    _wait(query, warm)
    before, cpu, began = query.lastProgress["batchId"], cpu_seconds(), datetime.now().astimezone()
    _wait(query, before + batches)
    after, spent, ended = query.lastProgress["batchId"], cpu_seconds() - cpu, datetime.now().astimezone()
    counted = [found for found in query.recentProgress if before < found["batchId"] <= after]
    assert all(found["numInputRows"] <= 1 for found in counted)
    query.stop()
    spark.stop()
    found = {
        "milliseconds": median(found["durationMs"]["triggerExecution"] for found in counted),
        "cpu_milliseconds": round(1000 * spent / (after - before), 1),
        "batches": after - before,
    }
    if recording is not None:
        _end_jvm(spark)
        found["forks_per_batch"] = round(_started(recording, began, ended) / (after - before), 2)
    return found


def _session(variant: str, folder: Path) -> SparkSession:
    if variant == "sluice":
        return session("floor", Resources(), jars=settings().jars / "spark", warehouse=folder / "warehouse")
    return SparkSession.builder.master("local[2]").getOrCreate()


def _rows(spark: SparkSession, shape: str) -> DataFrame:
    """One row a batch moves the source on; no row comes out."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).option("numPartitions", 1).load()
    rows = source.where("value < 0")
    if shape == "stateless":
        return rows
    return rows.withWatermark("timestamp", "1 hour").groupBy(F.window("timestamp", "1 hour")).count()


def _wait(query: Any, batch: int) -> None:  # noqa: ANN401 - a query of either kind
    while not query.lastProgress or query.lastProgress["batchId"] < batch:
        if query.exception() is not None:
            raise query.exception()
        time.sleep(0.02)


def _end_jvm(spark: SparkSession) -> None:
    """End the JVM, so that its recording is on disk."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark has no other way to it
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


def _started(recording: Path, began: datetime, ended: datetime) -> int:
    """Return how many processes a JVM started between two moments."""
    inherited = dict(os.environ)  # noqa: TID251  a child inherits all of it
    inherited.pop("JAVA_TOOL_OPTIONS", None)  # or the tool, a JVM itself, would begin a recording in this very file
    printed = subprocess.run(
        ["jfr", "print", "--json", "--events", "jdk.ProcessStart", str(recording)],
        capture_output=True,
        text=True,
        check=True,
        env=inherited,
    )
    events = json.loads(printed.stdout)["recording"]["events"]
    at = [datetime.fromisoformat(event["values"]["startTime"]) for event in events]
    return sum(began <= moment <= ended for moment in at)


if __name__ == "__main__":
    chosen, form, place, first, then, *record = sys.argv[1:]
    result = main(chosen, form, Path(place), (int(first), int(then)), Path(record[0]) if record else None)
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the figures are taken
