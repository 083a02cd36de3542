"""Static inputs from a private PostgreSQL. Needs its server programs and `requirements/postgres.in`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from sluice.errors import RefusedError, SpecError, UnreachableError
from sluice.specs.model.sources import StaticInput
from sluice.static.database import database_table
from tests.integration.control.test_postgresql import server, url

pytestmark = pytest.mark.verify

__all__ = ["server", "url"]

AT = datetime(2020, 1, 1, tzinfo=UTC)
TABLE = """CREATE TABLE prices (sku text, price numeric(9, 2), sold bigint, active boolean, since timestamptz,
naive timestamp, more jsonb)"""
COLUMNS = {"sku": "string", "price": "double", "sold": "long", "active": "boolean", "since": "timestamp"}


def static(**declared: object) -> StaticInput:
    return StaticInput.model_validate({"connection": "shop", "columns": COLUMNS, "reload": "1 min", **declared})


@pytest.fixture
def shop(url: str) -> str:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(TABLE))
        values = {"at": AT, "naive": AT.replace(tzinfo=None)}
        rows = "('b', 1.5, 3, true, :at, :naive, '{}'), ('a', null, null, null, null, null, null)"
        connection.execute(sa.text(f"INSERT INTO prices VALUES {rows}"), values)  # noqa: S608 - our own text
    engine.dispose()
    return url


def test_a_table_and_a_query_give_the_declared_columns(shop: str) -> None:
    sold = {"sku": "b", "price": 1.5, "sold": 3, "active": True, "since": AT}
    unknown = {"sku": "a", "price": None, "sold": None, "active": None, "since": None}
    assert database_table(static(table="public.prices"), shop).to_pylist() == [unknown, sold]
    query = "SELECT *, price::text AS shown FROM prices WHERE active"
    columns = {"shown": "string", "sold": "long"}
    assert database_table(static(query=query, columns=columns), shop).to_pylist() == [{"shown": "1.50", "sold": 3}]


def test_what_does_not_fit_is_refused(shop: str) -> None:
    with pytest.raises(RefusedError, match="has more than 1 rows"):
        database_table(static(table="prices"), shop, most=1)
    with pytest.raises(RefusedError, match="the database refuses"):
        database_table(static(table="gone"), shop)
    with pytest.raises(RefusedError, match="the database refuses: division by zero"):
        database_table(static(query="SELECT sold / 0 AS sold FROM prices", columns={"sold": "long"}), shop)
    with pytest.raises(SpecError, match="has a time without a zone in 'naive'"):
        database_table(static(table="prices", columns={"naive": "timestamp"}), shop)
    with pytest.raises(UnreachableError, match="could not be read"):
        database_table(static(table="prices"), "postgresql+psycopg://u:secret@127.0.0.1:1/d")
