"""SQL over Delta tables in this process, by DuckDB. It reads those tables and nothing else: no file, no network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from sluice.delta.reading import arrow_files, dataset_of
from sluice.errors import SpecError
from sluice.storage.folder import Folder

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
}


def query(sql: str, tables: Mapping[str, Folder], *, limit: int | None = None) -> pa.Table:
    """Return the rows of a query.

    Args:
        sql: one statement that gives rows, in DuckDB's dialect; times are in UTC.
        tables: folders by name, or the file of a carried table. Only those that the statement names are opened.
        limit: so many rows at most; None: all.

    Raises:
        SpecError: the statement is wrong, or gives no rows.
        CorruptionError: the log of a table cannot be read.
    """
    with _sandbox() as connection:
        for name, folder in named_in(sql, tables).items():
            connection.register(name, _rows_of(folder))
        try:
            relation = connection.sql(sql)
            if relation is None:
                raise SpecError("the statement gives no rows.", fix="query with SELECT; nothing can be changed here.")
            return (relation if limit is None else relation.limit(limit)).to_arrow_table()
        except duckdb.Error as error:
            there = (
                f"the tables are {', '.join(sorted(tables))}." if tables else "there is no table yet: `sluice status`."
            )
            raise SpecError(f"DuckDB refuses it: {_without_guess(error)}", fix=there) from error


def query_memory(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the rows of a query over tables in memory.

    Raises:
        SpecError: DuckDB refuses it.
    """
    with _sandbox() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        try:
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise SpecError(f"DuckDB refuses it: {str(error).splitlines()[0]}") from error


@contextmanager
def _sandbox() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection to a DuckDB that reads only what is registered; its times are in UTC."""
    with duckdb.connect(config=_CONFIG) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def _without_guess(error: duckdb.Error) -> str:
    """Return what DuckDB says, without the table of its own that it takes the name for."""
    return re.sub(r'\nDid you mean "(?:pg_|duckdb_|sqlite_|information_schema|pragma_)[^"]*"\?', "", str(error))


def schema_of(folder: Folder) -> pa.Schema:
    """Return the columns of a table.

    Raises:
        CorruptionError: its log cannot be read.
    """
    schema: pa.Schema = _rows_of(folder).schema
    return schema


def _rows_of(place: Folder) -> ds.Dataset:
    return ds.dataset(place.name, filesystem=arrow_files(place.parent)) if place.is_file() else dataset_of(place)


def named_in(sql: str, tables: Mapping[str, Folder]) -> dict[str, Folder]:
    """Return those tables whose names occur in a statement."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return {name: folder for name, folder in tables.items() if name.lower() in words}
