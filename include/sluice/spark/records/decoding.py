"""Bytes to columns: one strict parse per record, by classes of ours in the JVM (`sluice/jars/java/sluice/decoding`).

They tell what `from_json` takes without a word, such as a key that is there twice, or bytes after the object (ADR 0018,
0043). Avro and Protobuf are read under the schema that they were written with (ADR 0023, 0042).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from sluice.spark.records.patches import patched
from sluice.specs.model.encoding import UNDER_SCHEMAS
from sluice.specs.model.model import FieldType, TopicValue, ValueField
from sluice.topics.declaration import declaration

FAULT = "_fault"
"""Why a record's bytes do not read as declared: one of `sluice.quality.reasons.FAULTS`, or null."""

FAULT_DETAIL = "_fault_detail"
"""Which declared field that is, and what it holds, in words that quote nothing of the record; null if it is none."""

_FUNCTIONS = {
    "json": "sluice_from_json",
    "text": "sluice_from_lines",
    "csv": "sluice_from_lines",
    "avro": "sluice_from_avro",
    "protobuf": "sluice_from_protobuf",
}
"""Of `sluice.decoding.Functions`, which a session of the preset has."""

_TYPES: dict[FieldType, DataType] = {
    FieldType.STRING: StringType(),
    FieldType.LONG: LongType(),
    FieldType.INTEGER: IntegerType(),
    FieldType.DOUBLE: DoubleType(),
    FieldType.BOOLEAN: BooleanType(),
    FieldType.TIMESTAMP: TimestampType(),
    FieldType.DATE: DateType(),
    FieldType.BINARY: BinaryType(),
}


def value_schema(value: TopicValue) -> StructType:
    """Return the Spark schema of a value's declared fields, all nullable."""
    return _struct(value.fields)


def _struct(fields: Mapping[str, ValueField]) -> StructType:
    return StructType([StructField(name, _type(field)) for name, field in fields.items()])


def _type(field: ValueField) -> DataType:
    if field.items is not None:
        return ArrayType(_type(field.items))
    if field.values is not None:
        return MapType(StringType(), _type(field.values))
    if field.type is FieldType.DECIMAL:
        return DecimalType(field.precision or 0, field.scale or 0)
    return _TYPES[field.type] if field.fields is None else _struct(field.fields)


def decode(records: DataFrame, value: TopicValue) -> DataFrame:
    """Append one column per declared field, `_fault` and `_fault_detail` (string, null where the record decodes).

    Of a record with a fault, what could be read all the same has its value, and the rest is null.

    Args:
        records: anything with a binary column `_value`; see `sluice.spark.records.patches` for where it comes from.
        value: the declaration.
    """
    arguments = [value_schema(value).json(), declaration(value), *written_under(value)]
    parsed = F.call_function(_FUNCTIONS[value.format], patched(records, value.patches), *map(F.lit, arguments))
    # Spark pushes every later filter below a plain projection and parses the record once per filter;
    # a generator stops it, so the parse happens once.
    return records.select("*", F.inline(F.array(parsed)))


def written_under(value: TopicValue) -> Iterator[str]:
    """Yield what the function has to know of how values are written: ids of frames, schemas of Avro and Protobuf."""
    for key, version in value.schemas.items():
        yield str(key)
        if value.format in UNDER_SCHEMAS:
            yield value.written[version]
    if value.version is not None:
        yield value.written[value.version]
