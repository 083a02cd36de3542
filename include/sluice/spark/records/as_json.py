"""Rows as JSON text: nulls kept, times exact and in UTC."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructField, StructType, TimestampType

_OPTIONS = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Times inside objects keep their microseconds, too."""


def as_json(schema: StructType) -> Column:
    """Return the column that holds a row as JSON text, its nulls kept and its times exact and in UTC."""
    columns = [_exact(field).alias(field.name) for field in schema]
    return F.to_json(F.struct(*columns), _OPTIONS)


def _exact(field: StructField) -> Column:
    column = F.col(f"`{field.name}`")
    if not isinstance(field.dataType, TimestampType):
        return column
    # A cast drops no microsecond and writes no zeros; the session's time zone is UTC.
    return F.concat(F.replace(column.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
