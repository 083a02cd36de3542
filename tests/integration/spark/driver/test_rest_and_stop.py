"""What Spark says of queries that a driver rests by, and stops by: without Kafka, by sources that need no service."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from sluice.clock import SystemClock
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream, StreamRun
from sluice.spark.records.table_versions import version_stream
from sluice.streams.failures.exits import ExitCode
from tests.waiting import eventually


@pytest.mark.verify
def test_a_query_that_reads_no_rows_is_idle_only_while_no_version_comes(spark: SparkSession, tmp_path: Path) -> None:
    table, batches = tmp_path / "hours", list[int]()
    rows = version_stream(spark, "table:hours", table, StructType([StructField("nothing", LongType())]))
    stream = Stream("days", rows, lambda _rows, number: batches.append(number), tmp_path / "checkpoint", 0.5)
    run = StreamRun(stream, None, available_now=False, clock=SystemClock())

    def idle() -> bool:
        run.report()
        return run.idle

    run.start()
    try:
        eventually(idle, "it rests while there is no table")
        read = len(batches)
        write_deltalake(str(table), pa.table({"value": [1]}))
        eventually(lambda: len(batches) > read, "the version brings a batch")
        assert not idle()
        eventually(idle, "it rests again", seconds=60)
    finally:
        run.interrupt()


@pytest.mark.verify
def test_a_query_that_is_behind_commits_its_batch_and_begins_no_other(spark: SparkSession, tmp_path: Path) -> None:
    rows, stop = spark.readStream.format("rate").option("rowsPerSecond", "5").load(), StopRequest()
    begun: list[int] = []
    ended: list[int] = []

    def slow(_rows: DataFrame, number: int) -> None:
        begun.append(number)
        Event().wait(1.5)  # the work: meanwhile the source has more, so the next batch follows at once
        ended.append(number)

    def ask() -> bool:
        if len(begun) == 3:
            stop.ask()
        return True

    stream = Stream("behind", rows, slow, tmp_path / "checkpoint", 0.0)
    assert Driver([stream], {}, stop=stop, update=ask).run() is ExitCode.STOPPED
    assert begun == ended == [0, 1, 2]
    newest = max(int(file.name) for file in (tmp_path / "checkpoint" / "commits").iterdir() if file.name.isdigit())
    assert newest == 2
