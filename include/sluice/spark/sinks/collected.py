"""Rows in the driver's memory, where they are few: as a micro-batch's mostly are.

A Delta commit by Spark plans, schedules and lists files for a second before it has written a kilobyte. What fits here
is written from here instead, in milliseconds. Spark itself says what does not fit: it stops a result that outgrows
`spark.driver.maxResultSize` before it is sent.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from sluice.delta.reading import arrow_files
from sluice.storage.folder import Folder

MAX_RECORDS = "spark.sluice.collect.records"
"""The setting that bounds how many records of a batch are brought here; 0: none, Spark writes everything."""
_DEFAULT = "50000"
_OVERFLOW = "spark.driver.maxResultSize"
_SPARKS = ds.ParquetFileFormat(read_options={"coerce_int96_timestamp_unit": "us"})
"""Spark's files hold times in the form of Impala."""


def collected(rows: DataFrame, *, records: int = 1) -> pa.Table | None:
    """Return the rows, or None if they are too many: then they may have been computed once in vain.

    Args:
        rows: what to bring, of any columns; all are kept.
        records: how many there are, if that is known.
    """
    if records > int(rows.sparkSession.conf.get(MAX_RECORDS, _DEFAULT) or 0):
        return None
    return brought(rows)


def brought(rows: DataFrame) -> pa.Table | None:
    """Return the rows with all their columns, however many they are; None if they outgrow the driver."""
    try:
        return rows.toArrow()
    except (PySparkException, Py4JJavaError) as error:
        if _OVERFLOW not in str(error):
            raise
        return None


def in_files(rows: DataFrame, folder: Folder) -> ds.Dataset:
    """Write rows to files that no table names, whatever lies in their folder, and return them as Arrow reads them."""
    rows.write.mode("overwrite").parquet(str(folder))
    return read_by_arrow(folder, rows.schema)


def read_by_arrow(folder: Folder, schema: StructType) -> ds.Dataset:
    """Return the rows of files that Spark has written, as Arrow reads them."""
    return ds.dataset("", to_arrow_schema(schema, timezone="UTC"), _SPARKS, filesystem=arrow_files(folder))
