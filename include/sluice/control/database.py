"""Opens the control database and brings its schema up to date.

SQLite serves one machine; PostgreSQL serves several. The SQL is the same; what differs is kept here.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from sluice.control.sqlite_file import BUSY_SECONDS, SqliteFile
from sluice.control.tables import metadata
from sluice.disk import disk_error, sqlite_remedy
from sluice.errors import CorruptionError, RefusedError, SpecError, UnreachableError

SCHEMA = "0015"
"""The newest revision in `migrations/versions`; a test holds the two together."""

_TURNS = 0x511CE
"""Class of our advisory locks in PostgreSQL: any number that no other user of that database has."""


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite control database."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def open_database(url: str) -> Engine:
    """Return an engine. Connects to nothing yet.

    Raises:
        SpecError: the URL cannot be used.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "sqlite":
            return create_engine(parsed, pool_size=2, pool_pre_ping=True)
        # No pool: Airflow forks, and a SQLite connection must not cross a fork. Opening one costs a fraction of a ms.
        connect = SqliteFile(Path(parsed.database or "")).connect
        engine = create_engine(parsed, poolclass=NullPool, creator=connect)
    except (ArgumentError, ImportError) as error:
        # The URL may hold a password: it is not repeated.
        raise SpecError(f"SLUICE_CONTROL_URL cannot be used: {type(error).__name__}: {error}.") from error
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


@contextmanager
def transaction(engine: Engine, *, write: bool = False) -> Iterator[Connection]:
    """Open a transaction and commit it, or roll back what an exception interrupted.

    Raises:
        UnreachableError: the database could not be asked; nothing is known.
        CorruptionError: it is no database, or a damaged one.
    """
    where = engine.url.render_as_string(hide_password=True)
    try:
        with engine.execution_options(sluice_write=write).begin() as connection:
            yield connection
    except (IntegrityError, DataError):  # it was asked, and refuses a value
        raise
    except (DBAPIError, PoolTimeoutError) as error:
        cause = getattr(error, "orig", None) or error
        if type(error) is DatabaseError:  # no subclass: SQLite says so of a file that is no database, or a damaged one
            raise CorruptionError(
                f"the control database {where} cannot be read: {cause}.", fix="restore a copy."
            ) from error
        raise UnreachableError(
            f"the control database {where} could not be queried: {cause}.",
            fix=sqlite_remedy(cause, _folder_of(engine), "check that it is up and may be written."),
        ) from error
    except OSError as error:
        if (known := disk_error(error)) is None:
            raise
        raise UnreachableError(
            f"the control database {where} could not be queried: {known.message}", fix=known.fix
        ) from error


def _folder_of(engine: Engine) -> Path | None:
    """Return the folder of a SQLite database."""
    return Path(engine.url.database or "").parent if engine.dialect.name == "sqlite" else None


def take_turns(connection: Connection, about: str) -> None:
    """Wait until no other transaction takes turns about the same thing; until this one ends, none does.

    SQLite lets one writing transaction in at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_advisory_xact_lock(:ours, hashtext(:about))"), {"ours": _TURNS, "about": about}
        )


def compact(engine: Engine) -> int:
    """Give back the room of rows that are gone, and return how many bytes that were.

    SQLite keeps its file as large as it ever was. PostgreSQL uses the room again by itself.

    Raises:
        UnreachableError: another process kept writing, or there is no room for the copy that it needs; nothing is lost.
    """
    path = Path(engine.url.database or "") if engine.url.get_backend_name() == "sqlite" else None
    if path is None or not path.exists():
        return 0
    before = path.stat().st_size
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise UnreachableError(
            f"the control database {path} could not be compacted: {error}. Nothing in it was changed.",
            fix="run `sluice control compact` when the stack is at rest and the disk has room for a second copy of it.",
        ) from error
    return max(0, before - path.stat().st_size)


_ALEMBIC = threading.Lock()
"""Alembic keeps what it works on in its modules: two threads would migrate each other's databases."""


def migrate(engine: Engine) -> None:
    """Bring the schema up to date. Costs one query if it is; processes that start at once take turns.

    Raises:
        UnreachableError: the database could not be asked.
        RefusedError: its schema is newer than this code; nothing was changed.
    """
    with transaction(engine) as connection:
        if _revision(connection) == SCHEMA:
            return
    with transaction(engine, write=True) as connection:
        take_turns(connection, "schema")
        if _revision(connection) != SCHEMA:
            with _ALEMBIC:
                _upgrade(connection)


def _revision(connection: Connection) -> str | None:
    """Return the schema's revision, or None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade(connection: Connection) -> None:
    # Alembic is only needed when the schema changes, and its import costs more than everything else here.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    revision = _revision(connection)
    if revision is None:  # a new database: today's tables, without the steps that led to them
        metadata.create_all(connection)
        command.stamp(config, "head")
        return
    if revision not in [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]:
        raise RefusedError(
            f"the control database {connection.engine.url.render_as_string(hide_password=True)} has schema {revision}, "
            f"which this version of Sluice does not know (it knows up to {SCHEMA}).",
            fix="use the version of Sluice that wrote it, or a newer one. Below 0011 it is a development version's: "
            "stop its streams, move the database away, and run `sluice control rebuild`.",
        )
    command.upgrade(config, "head")


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # SQLAlchemy's begin event decides how a transaction begins; the driver must not begin one by itself.
    connection.isolation_level = None
    # In this mode readers and a writer do not wait for each other. It is kept in the file; switching a new file to it
    # needs a moment without other connections, and does not wait for one. The next connection tries again.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # a recorded intent must survive a power cut


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later would fail at once where another one wrote in between:
    # the busy timeout helps only who takes the write lock at the start.
    options: dict[str, Any] = dict(connection.get_execution_options())
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("sluice_write") else "BEGIN")
