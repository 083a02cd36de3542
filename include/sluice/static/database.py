"""Static inputs from a database: the rows of one statement, which the database answers as of one moment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, NoSuchModuleError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from sluice.errors import RefusedError, SpecError, UnreachableError
from sluice.specs.model.sources import StaticInput
from sluice.static.columns import schema_of

MOST_ROWS = 1_000_000
"""What a small table is: it is read by one process, and sent to every executor."""


def database_table(static: StaticInput, url: str, most: int = MOST_ROWS) -> pa.Table:
    """Return the declared columns of the rows that a static input names, in an order that depends on them alone.

    Args:
        static: with a connection.
        url: of the database, which may hold a password: no error repeats it.
        most: rows that it may have.

    Raises:
        SpecError: the URL is of no database that can be read here, or the rows do not fit the declared columns.
        RefusedError: the database refuses the statement, or there are too many rows.
        UnreachableError: it could not be asked.
    """
    engine = _engine(url, str(static.connection))
    try:
        with engine.connect() as connection:
            answer = connection.execution_options(stream_results=True).execute(_statement(static))
            names = list(answer.keys())
            _refuse_absent(static, names)
            places = [names.index(name) for name in static.columns]
            rows = [[row[place] for place in places] for row in answer.fetchmany(most + 1)]
    except (DBAPIError, PoolTimeoutError) as error:
        cause = getattr(error, "orig", None) or error
        # Of SQLite every error is an operational one.
        in_sqlite = isinstance(error, sa.exc.OperationalError) and engine.dialect.name == "sqlite"
        if in_sqlite or isinstance(error, ProgrammingError | DataError):
            raise RefusedError(f"{static.text}: the database refuses: {cause}", fix="correct it.") from None
        raise UnreachableError(f"{static.text} could not be read: {cause}", fix="check that it is up.") from None
    finally:
        engine.dispose()
    if len(rows) > most:
        raise RefusedError(
            f"{static.text} has more than {most:,} rows, which is no small table.",
            fix="select fewer rows, or bring them in as a topic.",
        )
    return _ordered(_table(static, rows))


def digest_of_rows(table: pa.Table) -> str:
    """Return the sha256 of rows in their order."""
    found = hashlib.sha256(json.dumps(table.schema.names).encode())
    for batch in table.to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found.update(json.dumps(row, default=str).encode())
    return found.hexdigest()


def _engine(url: str, connection: str) -> sa.Engine:
    try:
        return sa.create_engine(make_url(url), poolclass=sa.NullPool)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise SpecError(
            f"the connection {connection!r} cannot be used: {type(error).__name__}.",
            fix="write a URL of SQLAlchemy, such as postgresql+psycopg://user:password@host/database, and install "
            "its driver: `sluice[postgres]`.",
        ) from None


def _statement(static: StaticInput) -> sa.Executable:
    if static.query is not None:
        return sa.text(static.query.replace(":", r"\:"))  # a colon names no parameter: there are none
    schema, _, table = str(static.table).rpartition(".")
    columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in static.columns]
    return sa.select(*columns).select_from(sa.table(table, *columns, schema=schema or None))


def _refuse_absent(static: StaticInput, names: Sequence[str]) -> None:
    if absent := [name for name in static.columns if name not in names]:
        raise SpecError(
            f"{static.text} has no column {absent[0]!r}; it has {', '.join(names)}.",
            fix="correct the static input's `columns`, or its query.",
        )


def _table(static: StaticInput, rows: Sequence[Sequence[object]]) -> pa.Table:
    columns = dict(static.column_types)
    values: Mapping[str, list[object]] = {
        name: [_value(static, name, columns[name], row[place]) for row in rows] for place, name in enumerate(columns)
    }
    return pa.table(dict(values), schema=schema_of(columns))


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "long": (int,),
    "double": (float, int, Decimal),
    "boolean": (bool,),
    "timestamp": (datetime,),
}


def _value(static: StaticInput, name: str, kind: str, value: object) -> object:
    fits = value is None or (isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)))
    if fits and isinstance(value, datetime) and value.tzinfo is None:
        fits = False
    if not fits:
        shown = "a time without a zone" if isinstance(value, datetime) else f"a {type(value).__name__}"
        raise SpecError(
            f"{static.text} has {shown} in {name!r}, and {kind} is declared.",
            fix="cast it in the query, or declare another type.",
        )
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return float(value) if kind == "double" and isinstance(value, int | Decimal) else value


def _ordered(table: pa.Table) -> pa.Table:
    """Return the rows in order: a database gives the same rows in any, and they are no new content then."""
    return table.sort_by([(name, "ascending") for name in table.column_names])
