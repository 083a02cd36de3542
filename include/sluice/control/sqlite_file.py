"""Opens the file of a SQLite control database, also where it can only be read.

In a read-only folder, or on a full disk, SQLite opens no database in WAL mode: it needs to create the file in which
processes agree on the log. Without that file no process has the database open, and it can be read alone. If a process
was killed, the log still holds commits: then a copy of both is read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from sluice.disk import is_full

BUSY_SECONDS = 15


class SqliteFile:
    """One database file. Nothing is opened, and no folder created, before the first connection."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    def connect(self) -> sqlite3.Connection:
        """Open a connection.

        Raises:
            sqlite3.Error: the file cannot be opened.
            OSError: its folder cannot be made.
        """
        folder = self._path.parent
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK) and not is_full(folder)
        if writable or not self._path.exists() or self._sibling("-shm").exists():
            return sqlite3.connect(self._path, timeout=BUSY_SECONDS)
        log = self._sibling("-wal")
        if log.exists() and log.stat().st_size:
            return _never_written(sqlite3.connect(self._copied(log)))
        return sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro&immutable=1", timeout=BUSY_SECONDS, uri=True)

    def _sibling(self, ending: str) -> Path:
        return self._path.with_name(self._path.name + ending)

    def _copied(self, log: Path) -> Path:
        """Copy the file and its log once, and return the copy."""
        if self._copy is None:
            self._copy = tempfile.TemporaryDirectory(prefix="sluice-read-")
            for file in (self._path, log):
                shutil.copy(file, self._copy.name)
        return Path(self._copy.name, self._path.name)


def _never_written(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection that refuses to write: what it wrote would be lost with the copy."""
    connection.execute("PRAGMA query_only = ON")
    return connection
