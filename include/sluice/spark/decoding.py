"""Bytes to columns: one JSON parse per record."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from sluice.specs.model import FieldType, TopicValue

CORRUPT = "_corrupt"
"""Holds the text of a record of which some field did not read as its type."""

_TYPES: dict[FieldType, DataType] = {
    FieldType.STRING: StringType(),
    FieldType.LONG: LongType(),
    FieldType.DOUBLE: DoubleType(),
    FieldType.BOOLEAN: BooleanType(),
    FieldType.TIMESTAMP: TimestampType(),
}


def columns_schema(columns: dict[str, FieldType]) -> StructType:
    """Return the Spark schema of declared columns, all nullable."""
    return StructType([StructField(name, _TYPES[kind]) for name, kind in columns.items()])


def decode(records: DataFrame, value: TopicValue) -> DataFrame:
    """Append one column per declared field, and `_corrupt`.

    Args:
        records: anything with a binary column `_value`.
        value: the declaration.
    """
    schema = columns_schema({name: field.type for name, field in value.fields.items()})
    schema = schema.add(CORRUPT, StringType())
    parsed = F.from_json(F.col("_value").cast("string"), schema, {"columnNameOfCorruptRecord": CORRUPT})
    # Spark pushes every later filter below a plain projection and parses the record once per filter;
    # a generator stops it, so the parse happens once.
    return records.select("*", F.inline(F.array(parsed)))
