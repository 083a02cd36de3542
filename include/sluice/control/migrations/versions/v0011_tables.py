"""All tables of the control database, as the first release has them. What comes later is a migration after this one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"  # databases of development versions that have it hold these very tables
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    _attempt()
    _backfill()
    _desired_state()
    _interval()
    _interval_quality()
    _ledger()
    _ledger_entry()
    _order_break()
    _quarantine_case()
    _quarantine_event()
    _stream_snapshot()
    _verdict()


def _attempt() -> None:
    op.create_table(
        "attempt",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("unit", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("intended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("bound_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("failure", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("deployment", "unit", "generation", name=op.f("pk_attempt")),
        sa.UniqueConstraint("key", name=op.f("uq_attempt_key")),
    )


def _backfill() -> None:
    op.create_table(
        "backfill",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=160), nullable=False),
        sa.Column("key", sa.String(length=512), nullable=False),
        sa.Column("pipeline", sa.String(length=64), nullable=False),
        sa.Column("range_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("range_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("only", sa.String(length=16), nullable=False),
        sa.Column("requested_by", sa.String(length=256), nullable=False),
        sa.Column("request_reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done_before", sa.Integer(), nullable=False),
        sa.Column("advanced_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("cancel_requested_by", sa.String(length=256), nullable=False),
        sa.Column("accepts", sa.String(length=160), server_default="", nullable=False),
        sa.Column("replays", sa.String(length=96), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("deployment", "id", name=op.f("pk_backfill")),
        sa.UniqueConstraint("deployment", "key", name=op.f("uq_backfill_deployment_key")),
    )
    op.create_index(
        op.f("ix_backfill_deployment_pipeline_state"), "backfill", ["deployment", "pipeline", "state"], unique=False
    )


def _desired_state() -> None:
    op.create_table(
        "desired_state",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("unit", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("requested_by", sa.String(length=256), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_desired_state")),
    )
    op.create_index(
        op.f("ix_desired_state_deployment_unit_id"), "desired_state", ["deployment", "unit", "id"], unique=False
    )


def _interval() -> None:
    op.create_table(
        "interval",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("pipeline", sa.String(length=64), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("owner", sa.String(length=160), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=True),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("offsets", sa.Text(), nullable=True),
        sa.Column("topics", sa.Text(), nullable=True),
        sa.Column("watermark", sa.DateTime(timezone=True), nullable=True),
        sa.Column("codes", sa.Text(), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("checksum", sa.String(length=64), nullable=True),
        sa.Column("late", sa.Boolean(), nullable=True),
        sa.Column("dirty", sa.Text(), nullable=False),
        sa.Column("verified_by", sa.String(length=160), nullable=True),
        sa.Column("verified_code", sa.String(length=128), nullable=True),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("base", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("deployment", "pipeline", "starts_at", name=op.f("pk_interval")),
    )
    op.create_index(
        op.f("ix_interval_deployment_pipeline_state"), "interval", ["deployment", "pipeline", "state"], unique=False
    )


def _interval_quality() -> None:
    op.create_table(
        "interval_quality",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("pipeline", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("checksum", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("checked_by", sa.String(length=160), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "pipeline", "key", "starts_at", name=op.f("pk_interval_quality")),
    )


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("pipeline", sa.String(length=64), nullable=False),
        sa.Column("table_version", sa.BigInteger(), nullable=False),
        sa.Column("closed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("raw_version", sa.BigInteger(), nullable=False),
        sa.Column("raw_offsets", sa.Text(), nullable=False),
        sa.Column("raw_topics", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "pipeline", name=op.f("pk_ledger")),
    )


def _ledger_entry() -> None:
    op.create_table(
        "ledger_entry",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("pipeline", sa.String(length=64), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "pipeline", "version", name=op.f("pk_ledger_entry")),
    )


def _order_break() -> None:
    op.create_table(
        "order_break",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("topic_id", sa.String(length=64), nullable=False),
        sa.Column("partitions", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("topic", sa.String(length=256), nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("offsets", sa.Text(), nullable=False),
        sa.Column("intended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("grown_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("drained", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("deployment", "topic_id", "partitions", name=op.f("pk_order_break")),
    )
    op.create_index(op.f("ix_order_break_deployment_topic"), "order_break", ["deployment", "topic"])


def _quarantine_case() -> None:
    op.create_table(
        "quarantine_case",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=96), nullable=False),
        sa.Column("pipeline", sa.String(length=64), nullable=False),
        sa.Column("selection", sa.Text(), nullable=False),
        sa.Column("positions", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "id", name=op.f("pk_quarantine_case")),
    )
    op.create_index(
        op.f("ix_quarantine_case_deployment_pipeline"), "quarantine_case", ["deployment", "pipeline"], unique=False
    )


def _quarantine_event() -> None:
    op.create_table(
        "quarantine_event",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("case_id", sa.String(length=96), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("recorded_by", sa.String(length=256), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("backfills", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("deployment", "case_id", "number", name=op.f("pk_quarantine_event")),
    )


def _stream_snapshot() -> None:
    op.create_table(
        "stream_snapshot",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("unit", sa.String(length=64), nullable=False),
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "unit", "stream", name=op.f("pk_stream_snapshot")),
    )


def _verdict() -> None:
    op.create_table(
        "verdict",
        sa.Column("deployment", sa.String(length=64), nullable=False),
        sa.Column("unit", sa.String(length=64), nullable=False),
        sa.Column("stream", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("health", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("what_to_do", sa.Text(), nullable=False),
        sa.Column("lag_records", sa.BigInteger(), nullable=True),
        sa.Column("batches", sa.BigInteger(), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completeness", sa.Float(), nullable=False),
        sa.Column("lag_seconds", sa.Float(), nullable=True),
        sa.Column("watermark_lag_seconds", sa.Float(), nullable=True),
        sa.Column("catch_up_seconds", sa.Float(), nullable=True),
        sa.Column("loss_seconds", sa.Float(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "unit", "stream", "number", name=op.f("pk_verdict")),
    )
