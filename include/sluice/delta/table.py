"""Delta tables are created by declaration, in the plain form that every Delta reader understands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from deltalake import DeltaTable, Schema

from sluice.errors import RefusedError

# Without these features pandas, DuckDB and delta-rs read the table as well as Spark does.
_PLAIN = {"delta.enableDeletionVectors": "false", "delta.columnMapping.mode": "none"}


def ensure_table(
    folder: Path, schema: str, *, partition_by: Sequence[str] = (), configuration: Mapping[str, str] | None = None
) -> None:
    """Create the table if it is not there.

    Args:
        folder: of the table.
        schema: its columns, as Spark and Delta both write a schema in JSON.
        partition_by: names of partition columns.
        configuration: further properties of a table that is created, under Delta's names.

    Raises:
        RefusedError: it is there with other columns or partitions.
    """
    if not DeltaTable.is_deltatable(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            str(folder),
            Schema.from_json(schema),
            mode="ignore",
            partition_by=list(partition_by),
            configuration={**_PLAIN, **(configuration or {})},
        )
        return
    found = DeltaTable(str(folder))
    wanted, have = _columns(schema), _columns(found.schema().to_json())
    if wanted != have or list(partition_by) != found.metadata().partition_columns:
        raise RefusedError(
            f"{folder} has the columns {have} partitioned by {found.metadata().partition_columns}; this code writes "
            f"{wanted} partitioned by {list(partition_by)}.",
            fix="write to a new table, or migrate the old one.",
        )


def _columns(schema: str) -> dict[str, object]:
    return {field["name"]: field["type"] for field in json.loads(schema)["fields"]}
