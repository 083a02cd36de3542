"""Delta tables are created by declaration, in the plain form that every Delta reader understands, and grow by rule.

A column that the code has and the table has not is added, and is null in the rows before. Anything else would break
who reads the table, so it needs a table of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError

from sluice.delta.reading import open_table
from sluice.errors import RefusedError
from sluice.intervals.backfill.trial import ColumnChanges
from sluice.observability.logs import get_logger
from sluice.storage.folder import Folder

log = get_logger()

# Without deletion vectors pandas, DuckDB and delta-rs read the table as well as Spark does.
PLAIN_TABLE = {"delta.enableDeletionVectors": "false"}

_TRIES = 5


def ensure_table(
    folder: Folder, schema: str, *, partition_by: Sequence[str] = (), configuration: Mapping[str, str] | None = None
) -> None:
    """Create the table if it is not there, and add the columns and properties that it lacks.

    Args:
        folder: of the table.
        schema: its columns, as Spark and Delta both write a schema in JSON.
        partition_by: names of partition columns.
        configuration: further properties, under Delta's names; a table that is there gets them too.

    Raises:
        RefusedError: it is there with other types, other partitions, or columns that the schema does not have; nothing
            was changed.
    """
    if not DeltaTable.is_deltatable(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            str(folder),
            Schema.from_json(schema),
            mode="ignore",
            partition_by=list(partition_by),
            configuration={**PLAIN_TABLE, **(configuration or {})},
        )
        return
    for attempt in range(1, _TRIES + 1):
        try:
            _add_what_lacks(folder, schema, partition_by, configuration or {})
        except DeltaError:  # another writer has committed first, maybe the same
            if attempt == _TRIES:
                raise
        else:
            return


def _add_what_lacks(folder: Folder, schema: str, partition_by: Sequence[str], configuration: Mapping[str, str]) -> None:
    table = DeltaTable(str(folder))
    added = _fitting(table, folder, schema, partition_by)
    if added:
        table.alter.add_columns(added)
        log.info("columns added", table=folder.name, columns=[field.name for field in added])
    if not configuration.items() <= table.metadata().configuration.items():
        table.alter.set_table_properties(dict(configuration))


def refuse_unfit(folder: Folder, schema: str, *, partition_by: Sequence[str] = ()) -> None:
    """Make sure that `ensure_table` would take the table; the arguments are its own. Nothing is changed.

    Raises:
        RefusedError: as `ensure_table`.
    """
    if DeltaTable.is_deltatable(str(folder)):
        _fitting(DeltaTable(str(folder)), folder, schema, partition_by)


def column_changes(folder: Folder, schema: str, *, partition_by: Sequence[str] = ()) -> ColumnChanges:
    """Return how the columns of a schema differ from those of a table; the arguments are those of `ensure_table`.

    Raises:
        NotReadyError: there is no table.
        RefusedError: it has other partitions, so the rows cannot be compared interval by interval.
    """
    table = open_table(folder)
    _refuse_other_partitions(table, folder, partition_by)
    have, wanted = _columns(table.schema().to_json()), _columns(schema)
    return ColumnChanges(
        added=tuple(name for name in wanted if name not in have),
        dropped=tuple(name for name in have if name not in wanted),
        retyped=tuple(
            f"{name}: {_said(have[name])}, now {_said(wanted[name])}"
            for name in have
            if name in wanted and wanted[name] != have[name]
        ),
    )


def _fitting(table: DeltaTable, folder: Folder, schema: str, partition_by: Sequence[str]) -> list[Field]:
    """Return the columns to add to a table that fits otherwise."""
    added = _missing_columns(table, schema)
    _refuse_other_partitions(table, folder, partition_by)
    return added


def _missing_columns(table: DeltaTable, schema: str) -> list[Field]:
    """Return the columns to add, each nullable."""
    have, wanted = _columns(table.schema().to_json()), _columns(schema)
    faults = [
        f"{name} is {_said(have[name])} there and {_said(wanted[name])} here"
        if name in wanted
        else f"{name} is there and not here"
        for name in have
        if wanted.get(name) != have[name]
    ]
    if faults:
        name = Path(table.table_uri).name
        raise RefusedError(
            f"the table {name} cannot take what this code writes: {'; '.join(faults)}. Its readers would break, "
            "and nothing was changed.",
            fix=_steps(name),
        )
    added = {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in wanted.items()
            if name not in have
        ],
    }
    return list(Schema.from_json(json.dumps(added)).fields)


def _steps(name: str) -> str:
    return (
        "keep the column as it is (what is no longer computed can be null), and give the new one a name of its own; "
        f"or write a new table: 1. copy the pipeline's spec, and its suite, under a new name with the table {name}_v2; "
        "2. start its stream, and backfill what the topic has forgotten (`sluice backfill run <new pipeline> --mode "
        "recompute`); 3. compare, move the readers, then stop the old pipeline and remove its spec."
    )


def _refuse_other_partitions(table: DeltaTable, folder: Folder, partition_by: Sequence[str]) -> None:
    columns = table.metadata().partition_columns
    if columns != list(partition_by):
        raise RefusedError(
            f"{folder} is partitioned by {columns}; this code writes it partitioned by {list(partition_by)}.",
            fix=_steps(folder.name),
        )


def _columns(schema: str) -> dict[str, object]:
    return {field["name"]: field["type"] for field in json.loads(schema)["fields"]}


def _said(kind: object) -> str:
    return kind if isinstance(kind, str) else json.dumps(kind)
