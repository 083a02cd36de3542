"""A control database in a folder that cannot be written is read, and refuses what it would lose."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from sluice.control.database import migrate, open_database, sqlite_url, transaction
from sluice.disk import disk_error
from sluice.errors import UnreachableError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "control.db"
    migrate(open_database(sqlite_url(path)))
    return path


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, database: Path) -> Path:
    """The database in a folder that nobody can write to, as far as its opener can see."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != database.parent or mode != os.W_OK)
    return database


def revisions(path: Path) -> list[str]:
    with transaction(open_database(sqlite_url(path))) as connection:
        return list(connection.execute(text("SELECT version_num FROM alembic_version")).scalars())


def test_what_is_on_record_is_read(read_only: Path) -> None:
    assert len(revisions(read_only)) == 1
    assert [file.name for file in read_only.parent.iterdir()] == ["control.db"]


def test_commits_that_a_killed_process_left_in_the_log_are_read(read_only: Path) -> None:
    folder = read_only.parent
    with sqlite3.connect(folder / "control.db") as writer:
        writer.execute("UPDATE alembic_version SET version_num = 'newest'")
        writer.commit()
        shutil.copytree(folder, folder.with_name("killed"))  # as it is while the writer lives
    killed = folder.with_name("killed")
    (killed / "control.db-shm").unlink()
    shutil.rmtree(folder)
    killed.rename(folder)
    assert revisions(read_only) == ["newest"]


@pytest.mark.parametrize("log", [False, True], ids=["closed", "with a log"])
def test_a_write_is_refused_with_what_to_do(read_only: Path, log: bool) -> None:
    if log:
        read_only.with_name("control.db-wal").write_bytes(b"\0" * 32)
    with (
        pytest.raises(UnreachableError, match=r"readonly database\. Fix: make it writable for this user"),
        transaction(open_database(sqlite_url(read_only)), write=True) as connection,
    ):
        connection.execute(text("DELETE FROM alembic_version"))


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with (
        pytest.raises(UnreachableError, match=r"state cannot be used: File exists\. Fix: move away the file"),
        transaction(open_database(sqlite_url(tmp_path / "state" / "control.db"))),
    ):
        pass


def fill(connection: Connection) -> None:
    connection.execute(text("PRAGMA max_page_count = 1"))
    connection.execute(text("CREATE TABLE much (a TEXT)"))
    connection.execute(text("INSERT INTO much VALUES (zeroblob(1000000))"))


def test_a_full_disk_is_told_with_what_to_do(database: Path) -> None:
    engine = open_database(sqlite_url(database))
    with (
        pytest.raises(UnreachableError, match=r"database or disk is full\. Fix: free some space"),
        transaction(engine, write=True) as connection,
    ):
        fill(connection)
    assert len(revisions(database)) == 1


def test_an_error_that_is_not_of_the_disk_is_left_alone() -> None:
    assert disk_error(ConnectionRefusedError(111, "Connection refused")) is None
    assert disk_error(OSError("no number")) is None
