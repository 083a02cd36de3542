"""A `latest` output in PostgreSQL, rebuilt in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError

from sluice.errors import NotReadyError, UnreachableError
from sluice.live.rebuilding import HeldRow


class PostgresRebuildStore:
    """Implements `sluice.live.rebuilding.RebuildStore`.

    Args:
        engine: of the database.
        name: of the table.
    """

    def __init__(self, engine: sa.Engine, name: str) -> None:
        self._engine = engine
        self._name = name

    @property
    def columns(self) -> tuple[str, ...]:
        """See the port."""
        return tuple(self._table.columns.keys())

    def rows(self) -> Sequence[HeldRow]:
        """See the port."""
        table = self._table
        with self._transaction() as connection:
            return [dict(row) for row in connection.execute(sa.select(table)).mappings()]

    def count_later(self, time_column: str, than: datetime) -> int:
        """See the port."""
        try:
            table = self._table
        except NotReadyError:
            return 0
        counted = sa.select(sa.func.count()).select_from(table).where(table.c[time_column] > than)
        with self._transaction() as connection:
            return int(connection.execute(counted).scalar_one())

    def remove_later(self, time_column: str, than: datetime) -> None:
        """See the port."""
        table = self._table
        with self._transaction() as connection:
            connection.execute(table.delete().where(table.c[time_column] > than))

    def replace(self, rows: pa.Table, keys: Sequence[str], time_column: str, before: datetime) -> None:
        """See the port."""
        table = self._table
        with self._transaction() as connection:
            connection.execute(table.delete().where(table.c[time_column] < before))
            if rows.num_rows:
                added = insert(table).on_conflict_do_nothing(index_elements=list(keys))
                connection.execute(added, rows.to_pylist())

    @cached_property
    def _table(self) -> sa.Table:
        with self._transaction() as connection:
            try:
                return sa.Table(self._name, sa.MetaData(), autoload_with=connection)
            except NoSuchTableError:
                raise NotReadyError(
                    f"there is no table {self._name} in {self._where}.", fix="start the stream that writes it."
                ) from None

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or type(error).__name__
            raise UnreachableError(
                f"The table {self._name} of {self._where} could not be read or written: {cause}",
                fix="check that the database is up and may be written.",
            ) from error

    @property
    def _where(self) -> str:
        return self._engine.url.render_as_string(hide_password=True)
