"""A `latest` output as a table of PostgreSQL: rows, position and fence change in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, TypeGuard

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.types import TypeEngine

from sluice.errors import CorruptionError, RefusedError, SpecError, UnreachableError
from sluice.intervals.entries import StreamEntry, from_json, to_json
from sluice.intervals.writers import of_all_epochs
from sluice.live.store import Change, LatestTable
from sluice.postgres.renewal import renew
from sluice.streams.position.fencing import FencedError

_metadata = sa.MetaData()
_outputs = sa.Table(
    "sluice_outputs",
    _metadata,
    sa.Column("writer", sa.Text, primary_key=True),
    sa.Column("table_name", sa.Text, primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("entry", sa.Text),
)
"""Of every table: the generation that owns it, and the batch that it holds. A stream has one line in all its epochs.

Each transaction that changes rows writes a line of their table, so readers see by its `xmin` that they have changed.
"""
_OPENING = 0x51_0C1CE
"""The advisory lock under which tables are created: two sessions that create one at once fail."""
_DATA_REFUSED = ("22", "23", "54")
"""Classes of SQLSTATE: a value that cannot be held, a constraint, and a limit such as that of the size of a key."""

_TYPES: Mapping[pa.DataType, TypeEngine[Any]] = {
    pa.string(): sa.Text(),
    pa.large_string(): sa.Text(),
    pa.int64(): sa.BigInteger(),
    pa.int32(): sa.Integer(),
    pa.int16(): sa.SmallInteger(),
    pa.float64(): sa.Double(),
    pa.float32(): sa.Double(),
    pa.bool_(): sa.Boolean(),
    pa.date32(): sa.Date(),
    pa.binary(): sa.LargeBinary(),
    pa.timestamp("us", tz="UTC"): sa.DateTime(timezone=True),
}


def connect(url: str, connection: str, newest: Callable[[], str] | None = None) -> sa.Engine:
    """Return an engine. Connects to nothing yet.

    Args:
        url: of the database, which may hold a password: no error repeats it.
        connection: its name in the specs.
        newest: returns the URL as it is when a connection is opened; omitted: it stays what it is.

    Raises:
        SpecError: the URL is of no PostgreSQL, or its driver is not installed.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise SpecError(
                f"the connection {connection!r} is of {parsed.get_backend_name()}, not of PostgreSQL.",
                fix="write postgresql+psycopg://user:password@host/database.",
            )
        engine = sa.create_engine(parsed, pool_size=1, pool_pre_ping=True)
    except (ArgumentError, ImportError) as error:
        raise SpecError(
            f"the connection {connection!r} cannot be used: {type(error).__name__}.",
            fix="write postgresql+psycopg://user:password@host/database, and install `sluice[postgres]`.",
        ) from None
    if newest is not None:
        renew(engine, newest)
    return engine


def newest_generation(engine: sa.Engine, table: str) -> int:
    """Return the generation of the newest attempt that has opened a table; 0 if none has.

    Raises:
        UnreachableError: the database could not be asked.
    """
    with transaction(engine) as connection:
        if not sa.inspect(connection).has_table(_outputs.name):
            return 0
        newest = sa.select(sa.func.max(_outputs.c.generation)).where(_outputs.c.table_name == table)
        return int(connection.execute(newest).scalar_one() or 0)


class PostgresLatest:
    """Implements `sluice.live.store.LatestStore`.

    Args:
        engine: of the database.
        table: what it holds.
        writer: the app id of the stream.
        generation: the attempt on whose behalf this process writes.
    """

    def __init__(self, engine: sa.Engine, table: LatestTable, writer: str, generation: int) -> None:
        self.writer = writer
        self.generation = generation
        self.latest: StreamEntry | None = None
        self.filled = False
        self._engine = engine
        self._described = table
        self._table = sa.Table(table.name, sa.MetaData(), *_columns(table))

    def check(self) -> None:
        """See the port."""
        with self._transaction() as connection:
            if sa.inspect(connection).has_table(self._table.name):
                self._missing_columns(connection)

    def open(self) -> None:
        """See the port."""
        with self._transaction() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_OPENING)))
            _metadata.create_all(connection)
            self._table.metadata.create_all(connection)
            self._add(self._missing_columns(connection), connection)
            mine = {"writer": of_all_epochs(self.writer), "table_name": self._table.name}
            connection.execute(insert(_outputs).values(**mine, generation=self.generation).on_conflict_do_nothing())
            self.latest = self._owned(connection)
            connection.execute(_outputs.update().where(*self._mine()).values(generation=self.generation))

    def check_fence(self) -> None:
        """See the port."""
        with self._transaction() as connection:
            self._owned(connection)

    def apply(self, change: Change) -> None:
        """See the port."""
        with self._transaction() as connection:
            self._owned(connection)
            if change.rows.num_rows:
                connection.execute(self._upsert(), change.rows.to_pylist())
            connection.execute(_outputs.update().where(*self._mine()).values(entry=to_json(change.entry)))
        self.latest, self.filled = change.entry, True

    def expire(self, before: datetime) -> None:
        """See the port."""
        with self._transaction() as connection:
            self._owned(connection)
            time_column = self._table.c[str(self._described.time_column)]
            if connection.execute(self._table.delete().where(time_column < before)).rowcount:
                announce(self._table.name, connection)

    def _owned(self, connection: sa.Connection) -> StreamEntry | None:
        """Lock our line in the book until the transaction ends, and return the batch that it names."""
        line = connection.execute(
            sa.select(_outputs.c.generation, _outputs.c.entry).where(*self._mine()).with_for_update()
        ).one()
        if line.generation > self.generation:
            raise FencedError.of(f"the table {self._table.name}", line.generation, self.generation)
        entry = from_json(line.entry)
        if entry is not None and not isinstance(entry, StreamEntry):
            raise CorruptionError(f"sluice_outputs holds no batch of {self.writer}: {line.entry!r:.200}.")
        self.filled = entry is not None
        return entry if entry is not None and entry.writer == self.writer else None  # the others are of older epochs

    def _mine(self) -> tuple[Any, ...]:
        return (_outputs.c.writer == of_all_epochs(self.writer), _outputs.c.table_name == self._table.name)

    def _upsert(self) -> Any:  # noqa: ANN401 - SQLAlchemy's own type says no more
        table, by = self._described, self._described.newest_by
        new = insert(self._table)
        others = {name: new.excluded[name] for name in table.schema.names if name not in table.keys}
        if not others:
            return new.on_conflict_do_nothing(index_elements=list(table.keys))
        old = None if by is None else self._table.c[by]
        newer = None if old is None or by is None else old.is_(None) | (new.excluded[by] >= old)
        return new.on_conflict_do_update(index_elements=list(table.keys), set_=others, where=newer)

    def _missing_columns(self, connection: sa.Connection) -> list[sa.Column[Any]]:
        """Return the columns that the table lacks; refuse one that is another otherwise."""
        inspector = sa.inspect(connection)
        have = {column["name"]: column["type"] for column in inspector.get_columns(self._table.name)}
        keys = set(inspector.get_pk_constraint(self._table.name)["constrained_columns"])
        wanted = {column.name: column for column in self._table.columns}
        dialect = connection.dialect
        other = [
            f"{name} is {kind.compile(dialect)} there and {wanted[name].type.compile(dialect)} here"
            for name, kind in have.items()
            if name in wanted and kind.compile(dialect) != wanted[name].type.compile(dialect)
        ]
        other += [f"{name} is there and not here" for name in have if name not in wanted]
        if keys != set(self._described.keys):
            other.append(f"its key is {sorted(keys)} there and {sorted(self._described.keys)} here")
        if other:
            raise RefusedError(
                f"the table {self._table.name} cannot take what this code writes: {'; '.join(other)}. Nothing was "
                "changed.",
                fix="keep those columns, or write to a new table: name it in the spec, run `sluice streams reset` for "
                "this stream, then move the readers.",
            )
        return [column for name, column in wanted.items() if name not in have]

    def _add(self, columns: Iterable[sa.Column[Any]], connection: sa.Connection) -> None:
        """Add columns; they are null in the rows before."""
        quoted = connection.dialect.identifier_preparer.quote
        for column in columns:
            kind = column.type.compile(connection.dialect)
            connection.execute(
                sa.text(f"ALTER TABLE {quoted(self._table.name)} ADD COLUMN {quoted(column.name)} {kind}")
            )

    def _transaction(self) -> AbstractContextManager[sa.Connection]:
        return transaction(self._engine)


def announce(table: str, connection: sa.Connection) -> None:
    """Have readers of a table read it again, and lock out its streams until the transaction ends."""
    connection.execute(_outputs.update().where(_outputs.c.table_name == table).values(entry=_outputs.c.entry))


@contextmanager
def transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Yield a connection in a transaction, which is committed on the way out.

    Raises:
        RefusedError: the database refuses a statement, or a value.
        UnreachableError: it could not be asked.
    """
    where = f"the database {engine.url.render_as_string(hide_password=True)}"
    try:
        with engine.begin() as connection:
            yield connection
    except ProgrammingError as error:  # the statement, or the rights that it needs
        raise RefusedError(f"{where} refuses: {error.orig}", fix="see the message of the database.") from error
    except (DBAPIError, PoolTimeoutError) as error:
        if _refuses_data(error):
            raise RefusedError(
                f"{where} cannot hold the rows: {error.orig}",
                fix="let the transform leave such values out or replace them: PostgreSQL holds no U+0000 in texts, and "
                "no key of more than 2,700 bytes. Or keep the output in a Delta table.",
            ) from error
        cause = getattr(error, "orig", None) or error
        raise UnreachableError(
            f"{where} could not be queried: {cause}", fix="check that it is up and may be written."
        ) from error


def _refuses_data(error: DBAPIError | PoolTimeoutError) -> TypeGuard[DBAPIError]:
    """Whether it is the data that are refused: the same batch is refused again, however often it is tried."""
    if isinstance(error, DataError | IntegrityError):
        return True
    return isinstance(error, DBAPIError) and str(getattr(error.orig, "sqlstate", ""))[:2] in _DATA_REFUSED


def _columns(table: LatestTable) -> Iterator[sa.Column[Any]]:
    for field in table.schema:
        numeric = sa.Numeric(field.type.precision, field.type.scale) if pa.types.is_decimal(field.type) else None
        kind = numeric or _TYPES.get(field.type)
        if kind is None:
            raise RefusedError(
                f"the column {field.name!r} is a {field.type}, for which PostgreSQL has no column here.",
                fix="let the transform return plain columns, or keep the output in a Delta table.",
            )
        yield sa.Column(field.name, kind, primary_key=field.name in table.keys, autoincrement=False)
