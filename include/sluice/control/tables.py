"""The tables of the control database. What they hold can be rebuilt or asked again; no secret is in any of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem


class UtcDateTime(sa.TypeDecorator[datetime]):
    """A time in UTC, aware on both sides; SQLite keeps no zone, so it is put back when read."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Refuse a time without a zone: later its meaning would be unknown."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the control database holds UTC")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002, ANN401 - SQLAlchemy's signature
        """Return the time with its zone."""
        return value.astimezone(UTC) if isinstance(value, datetime) else None

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """Return what reads a value: in one step from SQLite's text, of which a watcher reads thousands a second."""
        return _from_sqlite if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _from_sqlite(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


class FreeText(sa.TypeDecorator[str]):
    """A text, whoever wrote it: reasons quote values of records, which may hold a NUL, and PostgreSQL holds none."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Put the sign for what cannot be shown in the place of each NUL."""
        return None if value is None else value.replace("\x00", "\ufffd")


metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def _of_deployment(name: str, *items: sa.Column[Any] | SchemaItem) -> sa.Table:
    """Return a table whose rows belong to a deployment: its name is the first part of their key."""
    return sa.Table(name, metadata, sa.Column("deployment", sa.String(64), primary_key=True), *items)


desired_state = sa.Table(
    "desired_state",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("deployment", sa.String(64), nullable=False),
    sa.Column("unit", sa.String(64), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("requested_by", sa.String(256), nullable=False),
    sa.Column("why", FreeText, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Index(None, "deployment", "unit", "id"),
)
"""Every desired state, oldest first: append-only."""

attempt = _of_deployment(
    "attempt",
    sa.Column("unit", sa.String(64), primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.String(160), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("intended_at", UtcDateTime, nullable=False),
    sa.Column("bound_at", UtcDateTime),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("exit_code", sa.Integer),
    sa.Column("reason", FreeText, nullable=False),
    sa.Column("failure", sa.String(32)),
    sa.UniqueConstraint("key"),
)
"""One row per driver process. The primary key is what a race between claims is decided by."""

verdict = _of_deployment(
    "verdict",
    sa.Column("unit", sa.String(64), primary_key=True),
    sa.Column("stream", sa.String(128), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("health", sa.String(16), nullable=False),
    sa.Column("why", FreeText, nullable=False),
    sa.Column("what_to_do", FreeText, nullable=False),
    sa.Column("lag_records", sa.BigInteger),
    sa.Column("batches", sa.BigInteger, nullable=False),
    sa.Column("committed_at", UtcDateTime),
    sa.Column("completeness", sa.Float, nullable=False),
    sa.Column("lag_seconds", sa.Float),
    sa.Column("watermark_lag_seconds", sa.Float),
    sa.Column("catch_up_seconds", sa.Float),
    sa.Column("loss_seconds", sa.Float),
    sa.Column("at", UtcDateTime, nullable=False),
)
"""The changes of each stream's verdict, numbered from 1: two watchers that see the same change write it once."""

backfill = _of_deployment(
    "backfill",
    sa.Column("id", sa.String(160), primary_key=True),
    sa.Column("key", sa.String(512), nullable=False),
    sa.Column("pipeline", sa.String(64), nullable=False),
    sa.Column("range_start", UtcDateTime, nullable=False),
    sa.Column("range_end", UtcDateTime, nullable=False),
    sa.Column("mode", sa.String(16), nullable=False),
    sa.Column("only", sa.String(16), nullable=False),
    sa.Column("requested_by", sa.String(256), nullable=False),
    sa.Column("request_reason", FreeText, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("claimed_at", UtcDateTime, nullable=False),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("done", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("done_before", sa.Integer, nullable=False),
    sa.Column("advanced_at", UtcDateTime),
    sa.Column("outcome", sa.String(32), nullable=False),
    sa.Column("why", FreeText, nullable=False),
    sa.Column("cancel_requested_by", sa.String(256), nullable=False),
    sa.Column("accepts", sa.String(160), nullable=False, server_default=""),
    sa.Column("replays", sa.String(96), nullable=False, server_default=""),
    sa.Column("static", sa.String(16), nullable=False, server_default="recorded"),
    sa.UniqueConstraint("deployment", "key"),
    sa.Index(None, "deployment", "pipeline", "state"),
)
"""One row per request. Claims take turns, see `sluice.control.database.take_turns`."""

ledger = _of_deployment(
    "ledger",
    sa.Column("pipeline", sa.String(64), primary_key=True),
    sa.Column("table_version", sa.BigInteger, nullable=False),
    sa.Column("closed_until", UtcDateTime),
    sa.Column("raw_version", sa.BigInteger, nullable=False),
    sa.Column("raw_offsets", FreeText, nullable=False),
    sa.Column("raw_topics", FreeText, nullable=False),
)
"""How far each pipeline's logs are indexed: of its output, and of the raw table that says what can be repaired."""

ledger_entry = _of_deployment(
    "ledger_entry",
    sa.Column("pipeline", sa.String(64), primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("entry", FreeText, nullable=False),
)
"""What the commits of the output tables carry, copied from their logs."""

interval = _of_deployment(
    "interval",
    sa.Column("pipeline", sa.String(64), primary_key=True),
    sa.Column("starts_at", UtcDateTime, primary_key=True),
    sa.Column("ends_at", UtcDateTime, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("owner", sa.String(160)),
    sa.Column("generation", sa.Integer),
    sa.Column("version", sa.BigInteger),
    sa.Column("written_at", UtcDateTime),
    sa.Column("offsets", FreeText),
    sa.Column("topics", FreeText),
    sa.Column("code", sa.String(128)),
    sa.Column("rows", sa.BigInteger),
    sa.Column("checksum", sa.String(64)),
    sa.Column("late", sa.Boolean),
    sa.Column("dirty", FreeText, nullable=False),
    sa.Column("verified_by", sa.String(160)),
    sa.Column("verified_code", sa.String(128)),
    sa.Column("verified_at", UtcDateTime),
    sa.Column("base", FreeText),
    sa.Index(None, "deployment", "pipeline", "state"),
)
"""The interval ledger, one row per interval: `state` is without staleness, which depends on today's code. `owner` to
`late` are of the current writing; `base` is the one that parity compares with, in JSON."""

order_break = _of_deployment(
    "order_break",
    sa.Column("topic_id", sa.String(64), primary_key=True),
    sa.Column("partitions", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("topic", sa.String(256), nullable=False),
    sa.Column("before", sa.Integer, nullable=False),
    sa.Column("offsets", FreeText, nullable=False),
    sa.Column("intended_at", UtcDateTime, nullable=False),
    sa.Column("grown_at", UtcDateTime),
    sa.Column("drained", sa.Boolean),
    sa.Index(None, "deployment", "topic"),
)
"""Where the order of keys broke when a topic grew to so many partitions; no other record has that."""

interval_quality = _of_deployment(
    "interval_quality",
    sa.Column("pipeline", sa.String(64), primary_key=True),
    sa.Column("key", sa.String(32), primary_key=True),
    sa.Column("starts_at", UtcDateTime, primary_key=True),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("checksum", sa.String(64), nullable=False),
    sa.Column("verdict", sa.String(16), nullable=False),
    sa.Column("result", FreeText, nullable=False),
    sa.Column("checked_by", sa.String(160), nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)
"""The result of each expectation in each interval, for those rows with that checksum; `result` is JSON."""

quarantine_case = _of_deployment(
    "quarantine_case",
    sa.Column("id", sa.String(96), primary_key=True),
    sa.Column("pipeline", sa.String(64), nullable=False),
    sa.Column("selection", FreeText, nullable=False),
    sa.Column("positions", FreeText, nullable=False),
    sa.Column("reasons", FreeText, nullable=False),
    sa.Column("opened_at", UtcDateTime, nullable=False),
    sa.Index(None, "deployment", "pipeline"),
)
"""Which records a case is about: `positions` is JSON of topic id, partition and offsets. No other record has that."""

quarantine_event = _of_deployment(
    "quarantine_event",
    sa.Column("case_id", sa.String(96), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("recorded_by", sa.String(256), nullable=False),
    sa.Column("why", FreeText, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("backfills", FreeText, nullable=False),
    sa.Column("counts", FreeText),
)
"""The events of a case, oldest first: append-only."""

stream_snapshot = _of_deployment(
    "stream_snapshot",
    sa.Column("unit", sa.String(64), primary_key=True),
    sa.Column("stream", sa.String(128), primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("state", FreeText, nullable=False),
)
"""The newest snapshot of each stream; ten thousand are written a minute. `at`: Unix time. `state`: JSON."""

objective_span = _of_deployment(
    "objective_span",
    sa.Column("output", sa.String(400), primary_key=True),
    sa.Column("begins_at", UtcDateTime, primary_key=True),
    sa.Column("ends_at", UtcDateTime, nullable=False),
    sa.Column("minute", sa.String(16), nullable=False),
    sa.Index(None, "deployment", "ends_at"),
)
"""How outputs with an objective were, run-length encoded: a row for as long as nothing changed."""

process_cost = _of_deployment(
    "process_cost",
    sa.Column("run", sa.String(256), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("work", sa.String(16), nullable=False),
    sa.Column("subject", sa.String(64), nullable=False),
    sa.Column("cpu_seconds", sa.Float, nullable=False),
    sa.Column("executor_seconds", sa.Float, nullable=False),
    sa.Column("counted_cpu", sa.Float, nullable=False),
    sa.Column("counted_executors", sa.Float, nullable=False),
    sa.Column("reads", FreeText, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Index(None, "deployment", "day"),
)
"""What each process used on each day (UTC). `counted_…`: of its whole life, up to the newest reading; `reads`: JSON of
records by stream, of its whole life, too."""
