"""Reading output tables without Spark, as any other reader would."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from sluice.errors import CorruptionError, NotReadyError

if TYPE_CHECKING:
    import pyarrow as pa


def open_table(folder: Path) -> DeltaTable:
    """Open a table.

    Raises:
        NotReadyError: there is none.
        CorruptionError: its log cannot be read.
    """
    try:
        return DeltaTable(str(folder))
    except TableNotFoundError as error:
        raise NotReadyError(f"there is no table in {folder}.", fix="start the stream that writes it.") from error
    except DeltaError as error:
        why = str(error).partition("\n")[0]  # what follows is the stack of delta-rs
        raise CorruptionError(f"the log of {folder} cannot be read: {why}.", fix="restore the table's log.") from error


def read_rows(folder: Path) -> pa.Table:
    """Return all rows of a table.

    Through Arrow's own file system: with delta-rs behind Arrow's threads, one process in ten aborts when it exits.

    Raises:
        NotReadyError: there is none.
        CorruptionError: its log cannot be read.
    """
    from pyarrow import fs  # noqa: PLC0415 - a third of a second, for a command that reads a log and no rows

    return open_table(folder).to_pyarrow_table(filesystem=fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()))


def first_partition(table: DeltaTable, column: str) -> datetime | None:
    """Return the least value (UTC) of a timestamp partition column, from the log alone; None for an empty table."""
    import pyarrow as pa  # noqa: PLC0415 - see above

    files = pa.table(table.get_add_actions(flatten=True))
    values = [value for value in files.column(f"partition.{column}").to_pylist() if value is not None]
    return min(values).astimezone(UTC) if values else None
