"""The files of a large batch in a raw table."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.table import ensure_table
from sluice.delta.upkeep import APPENDED
from sluice.delta.writer_log import WriterLog
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.sinks.raw import RawSink, raw_rows, raw_writer
from sluice.specs.catalog.catalog import Catalog
from sluice.streams.position.checkpoint import Checkpoint
from tests.integration.spark.sinks.lineages import Lineage

RECORDS = 50_001
"""One more than the driver collects."""


def test_columns_without_equal_values_get_no_dictionary(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    lineage = Lineage(tmp_path / "checkpoint", "a")
    records = spark.range(RECORDS).select(
        F.lit("t").alias("_topic_id"),
        F.lit(0).alias("_partition"),
        F.col("id").alias("_offset"),
        F.timestamp_millis(F.col("id")).alias("_timestamp"),
        F.lit(b"EWR").alias("_key"),
        F.col("id").cast("string").cast("binary").alias("_value"),
        F.lit(None).cast("array<struct<key: string, value: binary>>").alias("_headers"),
    )
    topic = catalog.topics["flights"]
    rows, table = raw_rows(records, topic), tmp_path / "raw"
    ensure_table(table, rows.schema.json(), configuration=APPENDED)
    log = WriterLog(table, raw_writer(KafkaTopic("flights", "t", "none", {})), 1)
    log.open()
    batch = lineage.plan(RECORDS, None)
    RawSink(table, Checkpoint(lineage.folder), log, topic.value.times)(rows, batch)

    footers = [pq.read_metadata(file) for file in table.glob("*.parquet")]
    assert sum(footer.num_rows for footer in footers) == RECORDS
    encodings = {column: _encodings(footers, column) for column in ("key", "partition", "offset", "value")}
    assert "RLE_DICTIONARY" in encodings["key"] | encodings["partition"] or "PLAIN_DICTIONARY" in encodings["key"]
    assert {*encodings["offset"], *encodings["value"]} == {"PLAIN"}
    held = DeltaTable(table).to_pyarrow_table(columns=["offset", "value"]).sort_by("offset")
    assert held["offset"].to_pylist() == list(range(RECORDS))
    assert held["value"].to_pylist() == [str(n).encode() for n in range(RECORDS)]


def _encodings(footers: list[pq.FileMetaData], column: str) -> set[str]:
    found: set[str] = set()
    for footer in footers:
        index = footer.schema.names.index(column)
        for group in range(footer.num_row_groups):
            found |= set(footer.row_group(group).column(index).encodings)
    return found - {"RLE", "BIT_PACKED"}
