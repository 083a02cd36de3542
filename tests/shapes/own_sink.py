"""A sink as a project would write one: rows into SQLite, together with the token of their batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pandas as pd

_SOURCE = '''\
"""A database of rows."""

import sqlalchemy as sa

from sluice.postgres.positions import newest_token, store_token
from sluice.spark.sinks.own import delivers

URL = "sqlite:///{path}"
CREATE = "CREATE TABLE IF NOT EXISTS delivered ({types})"


def newest(stream, _url):
    """Return which batch the database holds."""
    with sa.create_engine(URL).connect() as connection:
        return newest_token(connection, stream)


@delivers("exactly_once", newest=newest)
def write(rows, batch):
    """Write a batch."""
    values = [row.asDict() for row in rows.selectExpr({columns}).collect()]
    with sa.create_engine(URL).begin() as connection:
        connection.execute(sa.text(CREATE))
        if values:
            connection.execute(sa.text("INSERT INTO delivered VALUES ({places})"), values)
        store_token(connection, batch)
'''


def write_sink(home: Path, name: str, database: Path, columns: Mapping[str, str]) -> None:
    """Write the module `name` of a project's sinks, whose function is `write`.

    Args:
        home: the project.
        name: of the module.
        database: the file of SQLite.
        columns: which columns it keeps, with their types in SQLite; times as text.
    """
    text = _SOURCE.format(
        path=database,
        types=", ".join(f"{column} {kind}" for column, kind in columns.items()),
        columns=", ".join(
            f"'string({column}) {column}'" if kind == "TEXT" else repr(column) for column, kind in columns.items()
        ),
        places=", ".join(f":{column}" for column in columns),
    )
    (home / "spark_jobs" / "sinks").mkdir(exist_ok=True)
    (home / "spark_jobs" / "sinks" / f"{name}.py").write_text(text, encoding="utf-8")


def delivered(database: Path) -> pd.DataFrame:
    """Return the rows that the database holds."""
    with closing(sqlite3.connect(database)) as connection:
        return pd.read_sql_query("SELECT * FROM delivered", connection)
