"""A new connection to a database is opened with the URL as it is then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from sluice.errors import NotConfiguredError
from sluice.postgres.renewal import renew


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], str]:
    """Make a database whose only row is its name, and return its URL."""

    def make(name: str) -> str:
        url = f"sqlite:///{tmp_path / name}"
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE IF NOT EXISTS names (name text)"))
            connection.execute(sa.text("INSERT INTO names VALUES (:name)"), {"name": name})
        engine.dispose()
        return url

    return make


def name_in(engine: sa.Engine) -> object:
    with engine.connect() as connection:
        return connection.execute(sa.text("SELECT name FROM names")).scalar_one()


def test_each_new_connection_asks_for_the_url_and_an_open_one_stays(place: Callable[[str], str]) -> None:
    urls = [place("second")]
    engine = sa.create_engine(place("first"), poolclass=sa.NullPool)
    renew(engine, lambda: urls[-1])
    with engine.connect() as open_one:
        urls.append(place("third"))
        assert name_in(engine) == "third"
        assert open_one.execute(sa.text("SELECT name FROM names")).scalar_one() == "second"


@pytest.mark.parametrize("url", [None, "no URL at all"])
def test_where_the_newest_url_cannot_be_had_the_one_before_is_used_and_that_is_logged(
    place: Callable[[str], str], url: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def newest() -> str:
        if url is None:
            raise NotConfiguredError("SLUICE_CONNECTION_X_FILE names no file.")
        return url

    engine = sa.create_engine(place("first"), poolclass=sa.NullPool)
    renew(engine, newest)
    assert name_in(engine) == "first"
    assert "the one before is used" in caplog.text
    assert caplog.records[0].levelno == logging.WARNING
    assert "no URL at all" not in caplog.text
