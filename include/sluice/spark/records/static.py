"""Static inputs: small tables that a transform joins, versioned by the digest of their bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv
from pyspark.sql import DataFrame, SparkSession

from sluice.specs.model.model import FieldType, StaticInput

_ARROW: dict[FieldType, pa.DataType] = {
    FieldType.STRING: pa.string(),
    FieldType.LONG: pa.int64(),
    FieldType.DOUBLE: pa.float64(),
    FieldType.BOOLEAN: pa.bool_(),
    FieldType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


def read_static(spark: SparkSession, static: StaticInput, path: Path) -> DataFrame:
    """Return the declared columns of a CSV file, read on the driver so that executors need no file."""
    types = {name: _ARROW[kind] for name, kind in static.columns.items()}
    options = csv.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=True)
    return spark.createDataFrame(csv.read_csv(path, convert_options=options))
