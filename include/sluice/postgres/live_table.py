"""A `latest` output in PostgreSQL as a source of newest values: the whole table, whenever its rows have changed."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from sluice.errors import RefusedError, UnreachableError
from sluice.live.source import Row, SourceRead
from sluice.live.values import MAX_VALUES

_POLL_SECONDS = 0.25
_VERSION = text("SELECT writer, xmin::text FROM sluice_outputs WHERE table_name = :name ORDER BY writer")


class PostgresLiveTable:
    """Implements `sluice.live.source.LiveSource` for a table of an engine that ends with it."""

    def __init__(self, engine: Engine, table: str) -> None:
        self._engine = engine
        self._name = table
        self._read: list[tuple[str, str]] | None = None

    def read(self, seconds: float) -> SourceRead:
        """See the port.

        Raises:
            UnreachableError: see the port.
            RefusedError: the table has more rows than are held.
        """
        until = time.monotonic() + seconds
        while (version := self._version()) == self._read:
            if time.monotonic() >= until:
                return SourceRead()
            time.sleep(_POLL_SECONDS)
        rows = self._rows()
        self._read = version
        return SourceRead(rows, whole=True)

    def close(self) -> None:
        """See the port."""
        self._engine.dispose()

    def _version(self) -> list[tuple[str, str]]:
        """Return the last transaction that wrote each line about the table: every change of its rows writes one."""
        try:
            with self._engine.connect() as connection:
                return [(writer, xmin) for writer, xmin in connection.execute(_VERSION, {"name": self._name})]
        except SQLAlchemyError as error:
            raise self._unreachable(error) from error

    def _rows(self) -> list[Row]:
        quoted = self._engine.dialect.identifier_preparer.quote(self._name)
        try:
            with self._engine.connect() as connection:
                statement = text(f"SELECT * FROM {quoted} LIMIT {MAX_VALUES + 1}")  # noqa: S608 - quoted
                rows = [dict(row) for row in connection.execute(statement).mappings()]
        except SQLAlchemyError as error:
            raise self._unreachable(error) from error
        if len(rows) > MAX_VALUES:
            raise RefusedError(
                f"{self._name} has more than {MAX_VALUES:,} rows, which are held in memory.",
                fix="deliver it to a topic, or let settled rows go by `keep: open`.",
            )
        at = datetime.now(UTC)
        return [Row(fields, at) for fields in rows]

    def _unreachable(self, error: SQLAlchemyError) -> UnreachableError:
        where = self._engine.url.render_as_string(hide_password=True)
        cause = getattr(error, "orig", None) or type(error).__name__
        return UnreachableError(f"The table {self._name} of {where} could not be read: {cause}")
