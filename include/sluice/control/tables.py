"""The tables of the control database. What they hold can be rebuilt or asked again; no secret is in any of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
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
from sqlalchemy.schema import SchemaItem


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC, aware on both sides; SQLite keeps no zone, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse a time without a zone: later its meaning would be unknown."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the control database holds UTC")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, ANN401 - SQLAlchemy's signature
        """Return the time with its zone."""
        return value.astimezone(UTC) if isinstance(value, datetime) else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """Return what reads a value: in one step from SQLite's text, of which a watcher reads thousands a second."""
        return _from_sqlite if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _from_sqlite(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def _of_deployment(name: str, *items: Column[Any] | SchemaItem) -> Table:
    """Return a table whose rows belong to a deployment: its name is the first part of their key."""
    return Table(name, metadata, Column("deployment", String(64), primary_key=True), *items)


desired_state = Table(
    "desired_state",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("deployment", String(64), nullable=False),
    Column("unit", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("requested_by", String(256), nullable=False),
    Column("why", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "deployment", "unit", "id"),
)
"""Every desired state, oldest first: append-only."""

attempt = _of_deployment(
    "attempt",
    Column("unit", String(64), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("key", String(160), nullable=False),
    Column("state", String(16), nullable=False),
    Column("intended_at", UtcDateTime, nullable=False),
    Column("bound_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("exit_code", Integer),
    Column("reason", Text, nullable=False),
    Column("failure", String(32)),
    UniqueConstraint("key"),
)
"""One row per driver process. The primary key is what a race between claims is decided by."""

verdict = _of_deployment(
    "verdict",
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
    Column("lag_seconds", Float),
    Column("watermark_lag_seconds", Float),
    Column("catch_up_seconds", Float),
    Column("loss_seconds", Float),
    Column("at", UtcDateTime, nullable=False),
)
"""The changes of each stream's verdict, numbered from 1: two watchers that see the same change write it once."""

backfill = _of_deployment(
    "backfill",
    Column("id", String(160), primary_key=True),
    Column("key", String(512), nullable=False),
    Column("pipeline", String(64), nullable=False),
    Column("range_start", UtcDateTime, nullable=False),
    Column("range_end", UtcDateTime, nullable=False),
    Column("mode", String(16), nullable=False),
    Column("only", String(16), nullable=False),
    Column("requested_by", String(256), nullable=False),
    Column("request_reason", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("claimed_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("done_before", Integer, nullable=False),
    Column("advanced_at", UtcDateTime),
    Column("outcome", String(32), nullable=False),
    Column("why", Text, nullable=False),
    Column("cancel_requested_by", String(256), nullable=False),
    Column("accepts", String(160), nullable=False, server_default=""),
    Column("replays", String(96), nullable=False, server_default=""),
    UniqueConstraint("deployment", "key"),
    Index(None, "deployment", "pipeline", "state"),
)
"""One row per request. Claims take turns, see `sluice.control.database.take_turns`."""

ledger = _of_deployment(
    "ledger",
    Column("pipeline", String(64), primary_key=True),
    Column("table_version", BigInteger, nullable=False),
    Column("closed_until", UtcDateTime),
    Column("raw_version", BigInteger, nullable=False),
    Column("raw_offsets", Text, nullable=False),
    Column("raw_topics", Text, nullable=False),
)
"""How far each pipeline's logs are indexed: of its output, and of the raw table that says what is closed."""

ledger_entry = _of_deployment(
    "ledger_entry",
    Column("pipeline", String(64), primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("at", UtcDateTime, nullable=False),
    Column("entry", Text, nullable=False),
)
"""What the commits of the output tables carry, copied from their logs."""

interval = _of_deployment(
    "interval",
    Column("pipeline", String(64), primary_key=True),
    Column("starts_at", UtcDateTime, primary_key=True),
    Column("ends_at", UtcDateTime, nullable=False),
    Column("state", String(16), nullable=False),
    Column("owner", String(160)),
    Column("generation", Integer),
    Column("version", BigInteger),
    Column("written_at", UtcDateTime),
    Column("offsets", Text),
    Column("topics", Text),
    Column("watermark", UtcDateTime),
    Column("codes", Text),
    Column("rows", BigInteger),
    Column("checksum", String(64)),
    Column("late", Boolean),
    Column("dirty", Text, nullable=False),
    Column("verified_by", String(160)),
    Column("verified_code", String(128)),
    Column("verified_at", UtcDateTime),
    Column("base", Text),
    Index(None, "deployment", "pipeline", "state"),
)
"""The interval ledger, one row per interval: `state` is without staleness, which depends on today's code. `owner` to
`late` are of the current writing; `base` is the one that parity compares with, in JSON."""

order_break = _of_deployment(
    "order_break",
    Column("topic_id", String(64), primary_key=True),
    Column("partitions", Integer, primary_key=True, autoincrement=False),
    Column("topic", String(256), nullable=False),
    Column("before", Integer, nullable=False),
    Column("offsets", Text, nullable=False),
    Column("intended_at", UtcDateTime, nullable=False),
    Column("grown_at", UtcDateTime),
    Column("drained", Boolean),
    Index(None, "deployment", "topic"),
)
"""Where the order of keys broke when a topic grew to so many partitions; no other record has that."""

interval_quality = _of_deployment(
    "interval_quality",
    Column("pipeline", String(64), primary_key=True),
    Column("key", String(32), primary_key=True),
    Column("starts_at", UtcDateTime, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("checksum", String(64), nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("result", Text, nullable=False),
    Column("checked_by", String(160), nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
"""The result of each expectation in each interval, for those rows with that checksum; `result` is JSON."""

quarantine_case = _of_deployment(
    "quarantine_case",
    Column("id", String(96), primary_key=True),
    Column("pipeline", String(64), nullable=False),
    Column("selection", Text, nullable=False),
    Column("positions", Text, nullable=False),
    Column("reasons", Text, nullable=False),
    Column("opened_at", UtcDateTime, nullable=False),
    Index(None, "deployment", "pipeline"),
)
"""Which records a case is about: `positions` is JSON of topic id, partition and offsets. No other record has that."""

quarantine_event = _of_deployment(
    "quarantine_event",
    Column("case_id", String(96), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("state", String(16), nullable=False),
    Column("recorded_by", String(256), nullable=False),
    Column("why", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("backfills", Text, nullable=False),
    Column("counts", Text),
)
"""The events of a case, oldest first: append-only."""

stream_snapshot = _of_deployment(
    "stream_snapshot",
    Column("unit", String(64), primary_key=True),
    Column("stream", String(128), primary_key=True),
    Column("at", Float, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("state", Text, nullable=False),
)
"""The newest snapshot of each stream; ten thousand are written a minute. `at`: Unix time. `state`: JSON."""
