"""Make what a backfill starts from, without Kafka: a raw table of flights, and an output table that waits for them.

Usage: python -m benchmarks.raw_input <state folder> <copies> <first day> <last day> <files>

The raw table has the flights of the local days `copies` times (`benchmarks.dense_flights`), in files by arrival
as compaction leaves it. By its log, every interval of the output table is settled and none has rows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from benchmarks.backfill.recompute import PIPELINE
from benchmarks.dense_flights import ID, lines
from sluice.delta.log import append_entry
from sluice.delta.table import ensure_table
from sluice.feeds.heartbeat import heartbeat_times
from sluice.feeds.nycflights13 import Nycflights13
from sluice.intervals.alignment import interval_of
from sluice.intervals.entries import ExaminedSource, SettleEntry, StreamEntry, to_json
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.pipeline import partition_column, result_rows
from sluice.spark.session.session import session
from sluice.spark.settling.stream import settler_name
from sluice.spark.sinks.raw import raw_records, raw_rows
from sluice.specs.model.model import PipelineSpec, TopicSpec

TOPIC_ID = "benchmark"
_SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("index", pa.int64()),  # within its partition
        ("key", pa.binary()),
        ("number", pa.int64()),  # flight_id; null where the value has none
        ("rest", pa.string()),  # the value; what follows the flight_id where there is one
        ("arrival", pa.timestamp("us", tz="UTC")),
    ]
)


def write_lines(rows: Iterable[dict[str, Any]], folder: Path, files: int) -> None:
    """Write the rows in their order into Parquet files of the same length."""
    folder.mkdir()
    table = pa.Table.from_pylist(list(rows), schema=_SCHEMA)
    length = -(-table.num_rows // files)
    for number in range(files):
        pq.write_table(table.slice(number * length, length), folder / f"{number:04}.parquet")


def records(spark: SparkSession, folder: Path, copies: int, flights: int) -> DataFrame:
    """Return all records as a Kafka read would."""
    lines = spark.read.parquet(str(folder)).withColumn("copy", F.explode(F.sequence(F.lit(0), F.lit(copies - 1))))
    number = (F.col("number") + F.col("copy") * flights).cast("string")
    value: Column = F.coalesce(F.concat(F.lit(ID), number, F.col("rest")), F.col("rest"))
    return lines.select(
        F.lit(TOPIC_ID).alias("_topic_id"),
        F.col("partition").alias("_partition"),
        (F.col("index") * copies + F.col("copy")).alias("_offset"),
        F.col("arrival").alias("_timestamp"),
        F.col("key").alias("_key"),
        value.cast("binary").alias("_value"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("_headers"),
    )


def write_raw(rows: DataFrame, table: Path, topic: TopicSpec, ends: dict[str, int]) -> None:
    """Write the raw table in one commit that names its input."""
    ensure_table(table, rows.schema.json())
    start = dict.fromkeys(ends, 0)
    entry = StreamEntry(f"raw_{topic.name}:{TOPIC_ID}:0", 1, "", 0, start, ends)
    rows.write.format("delta").mode("append").option("userMetadata", to_json(entry)).save(str(table))


def write_waiting(
    table: Path, pipeline: PipelineSpec, ends: dict[str, int], *, first: datetime, closing: datetime
) -> None:
    """Say in the log of an empty output table that every interval is settled and none has rows."""
    (topic,), length = pipeline.topics, pipeline.intervals.interval_length
    entry = SettleEntry(
        writer=settler_name(pipeline.name),
        generation=1,
        nonce="waiting",
        since=interval_of(first, length).start,
        settled_until=interval_of(closing - pipeline.time_of(topic).delay, length).start,
        sources={topic: ExaminedSource(ends, (TOPIC_ID,))},
        code="an earlier version",
    )
    append_entry(table, entry)


def main(state: Path, copies: int, first: date, last: date, files: int) -> None:
    """Make both tables, and say on the last line of the output what they hold."""
    project = Project.open_strict(Settings(state=state))
    pipeline, folder = project.catalog.pipelines[PIPELINE], state / "lines"
    topic, source = project.catalog.topics[pipeline.topics[0]], Nycflights13.load()
    last_event = source.last_event(first, last)
    assert last_event is not None
    closing = heartbeat_times(last_event, topic.name, [pipeline])[-1]
    state.mkdir(parents=True)
    write_lines(lines(source.records(first, last), topic, closing), folder, files)
    counts = pq.read_table(folder, columns=["partition"]).column("partition").value_counts().to_pylist()
    ends = {f"{topic.name}/{c['values']}": c["counts"] * copies for c in counts}
    spark = session(
        "raw-input",
        pipeline.resources,
        jars=project.settings.jars / "spark",
        warehouse=state / "warehouse",
        overrides={"spark.driver.memory": "2g", "spark.sql.files.openCostInBytes": "1g"},  # a task for each file
    )
    raw = project.folder.table(topic.raw.table)
    write_raw(raw_rows(records(spark, folder, copies, sum(source.days().values())), topic), raw, topic, ends)
    table = project.folder.table(pipeline.intervals.table)
    stored = {topic.name: raw_records(spark.read.format("delta").load(str(raw)))}
    results = result_rows(stored, pipeline_code(project, spark, pipeline))
    ensure_table(table, results.schema.json(), partition_by=[partition_column(pipeline.intervals)])
    write_waiting(table, pipeline, ends, first=datetime.combine(first, datetime.min.time(), UTC), closing=closing)
    spark.stop()
    size = sum(file.stat().st_size for file in raw.glob("*.parquet"))
    sys.stdout.write(json.dumps({"records": sum(ends.values()), "raw_table_bytes": size}) + "\n")


if __name__ == "__main__":
    place, number, since, until, pieces = sys.argv[1:]
    main(Path(place), int(number), date.fromisoformat(since), date.fromisoformat(until), int(pieces))
