"""Calls of a function for each key of a batch: the records of a key meet the row of the carried table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from sluice.spark.keyed.calls import Calls

_ROW, _LEFT = "row", "left"


def called_in_batch(records: DataFrame, state: DataFrame, calls: Calls) -> tuple[DataFrame, DataFrame]:
    """Return the rows and the carried table after these records; each key is called once, however often both are read.

    Args:
        records: of a batch.
        state: the carried table before.
        calls: what is called.
    """
    schema = StructType([StructField(_ROW, calls.rows), StructField(_LEFT, calls.carried)])
    both = records.groupBy(*calls.by).cogroup(state.groupBy(*calls.by))
    made = both.applyInArrow(partial(_called, calls, to_arrow_schema(schema, timezone="UTC")), schema).localCheckpoint()
    rows, left = (made.where(F.col(side).isNotNull()).select(f"{side}.*") for side in (_ROW, _LEFT))
    return rows, left


def _called(calls: Calls, schema: pa.Schema, records: pa.Table, state: pa.Table) -> pa.Table:
    """Return the rows of one key, and below them what is left of it; a key without records stays as it is."""
    before = _plain(state)
    if not records.num_rows:
        return _table([], before[0] if before else None, schema)
    given = _plain(records)
    key = {name: given[0][name] for name in calls.by}
    remembered = {name: value for name, value in before[0].items() if name not in key} if before else None
    rows, left = calls.call(given, remembered)
    return _table(rows, None if left is None else {**key, **left}, schema)


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")
    return rows


def _table(rows: list[dict[str, Any]], left: Mapping[str, Any] | None, schema: pa.Schema) -> pa.Table:
    made = [{_ROW: row, _LEFT: None} for row in rows]
    if left is not None:
        made.append({_ROW: None, _LEFT: dict(left)})
    return pa.Table.from_pylist(made, schema=schema)
