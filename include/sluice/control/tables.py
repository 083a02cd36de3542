"""The tables of the control database. What they hold can be rebuilt or asked again; no secret is in any of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC, aware on both sides; SQLite keeps no zone, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse a time without a zone: nobody could say later which one it meant."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the control database holds UTC")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, ANN401 - SQLAlchemy's signature
        """Return the time with its zone."""
        if not isinstance(value, datetime):
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)

desired_state = Table(
    "desired_state",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("deployment", String(64), nullable=False),
    Column("unit", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("asked_by", String(256), nullable=False),
    Column("why", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "deployment", "unit", "id"),
)
"""Every wish, oldest first: append-only."""

attempt = Table(
    "attempt",
    metadata,
    Column("deployment", String(64), primary_key=True),
    Column("unit", String(64), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("key", String(160), nullable=False),
    Column("state", String(16), nullable=False),
    Column("intended_at", UtcDateTime, nullable=False),
    Column("bound_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("exit_code", Integer),
    Column("reason", Text, nullable=False),
    UniqueConstraint("key"),
)
"""One row per driver process. The primary key is what a race between claims is decided by."""

verdict = Table(
    "verdict",
    metadata,
    Column("deployment", String(64), primary_key=True),
    Column("unit", String(64), primary_key=True),
    Column("stream", String(128), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("generation", Integer, nullable=False),
    Column("health", String(16), nullable=False),
    Column("why", Text, nullable=False),
    Column("what_to_do", Text, nullable=False),
    Column("lag_records", BigInteger),
    Column("batches", BigInteger, nullable=False),
    Column("committed_at", UtcDateTime),
    Column("completeness", Float, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
"""The changes of each stream's verdict, numbered from 1: two watchers that see the same change write it once."""
