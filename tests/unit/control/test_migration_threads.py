"""Threads of one process that each migrate a database of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from sqlalchemy import text

from sluice.control.database import SCHEMA, migrate, open_database, sqlite_url

THREADS = 4


def test_each_thread_migrates_its_own_database(tmp_path: Path) -> None:
    together = Barrier(THREADS)

    def migrated(number: int) -> str:
        engine = open_database(sqlite_url(tmp_path / f"{number}.db"))
        together.wait(30)
        migrate(engine)
        with engine.connect() as connection:
            connection.execute(text("SELECT failure FROM attempt"))
            return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one())

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(migrated, range(THREADS))) == [SCHEMA] * THREADS
