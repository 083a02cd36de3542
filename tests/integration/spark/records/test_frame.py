"""What Arrow has read becomes rows of Spark, whatever there is of it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sluice.spark.tables.raw_table import frame_of

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("value", pa.binary()), ("headers", HEADERS)])
ROW = pa.Table.from_pylist([{"at": 0, "value": b"a", "headers": [{"key": "k", "value": b"v"}]}], SCHEMA)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (pa.Table.from_batches([], SCHEMA), 0),
        (SCHEMA.empty_table(), 0),
        (pa.concat_tables([SCHEMA.empty_table(), ROW]), 1),
    ],
    ids=["no file", "a file without a row", "a row behind it"],
)
def test_files_without_rows_are_no_fault(spark: SparkSession, table: pa.Table, rows: int) -> None:
    found = frame_of(spark, table)
    assert [name for name, _ in found.dtypes] == SCHEMA.names
    assert found.count() == rows
