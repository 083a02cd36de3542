"""A `latest` output in PostgreSQL, rebuilt in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import NoSuchTableError

from sluice.errors import NotReadyError
from sluice.live.rebuilding import HeldRow
from sluice.postgres.latest import announce, transaction


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
        with transaction(self._engine) as connection:
            return [dict(row) for row in connection.execute(sa.select(table)).mappings()]

    def count_later(self, time_column: str, than: datetime) -> int:
        """See the port."""
        try:
            table = self._table
        except NotReadyError:
            return 0
        counted = sa.select(sa.func.count()).select_from(table).where(table.c[time_column] > than)
        with transaction(self._engine) as connection:
            return int(connection.execute(counted).scalar_one())

    def remove_later(self, time_column: str, than: datetime) -> None:
        """See the port."""
        table = self._table
        with transaction(self._engine) as connection:
            announce(self._name, connection)
            connection.execute(table.delete().where(table.c[time_column] > than))

    def replace(self, rows: pa.Table, keys: Sequence[str], time_column: str, before: datetime) -> None:
        """See the port."""
        table = self._table
        with transaction(self._engine) as connection:
            announce(self._name, connection)  # before the rows are locked, as a batch does it
            connection.execute(table.delete().where(table.c[time_column] < before))
            if rows.num_rows:
                added = insert(table).on_conflict_do_nothing(index_elements=list(keys))
                connection.execute(added, rows.to_pylist())

    @cached_property
    def _table(self) -> sa.Table:
        with transaction(self._engine) as connection:
            try:
                return sa.Table(self._name, sa.MetaData(), autoload_with=connection)
            except NoSuchTableError:
                raise NotReadyError(
                    f"there is no table {self._name} in {self._engine.url.render_as_string(hide_password=True)}.",
                    fix="start the stream that writes it.",
                ) from None
