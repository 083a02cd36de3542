"""Backfills, and the index of the interval ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create four tables."""
    _create_backfill()
    op.create_table(
        "ledger",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("pipeline", sa.String(64), primary_key=True),
        sa.Column("table_version", sa.BigInteger(), nullable=False),
        sa.Column("closed_until", sa.DateTime(timezone=True)),
        sa.Column("raw_version", sa.BigInteger(), nullable=False),
        sa.Column("raw_offsets", sa.Text(), nullable=False),
    )
    op.create_table(
        "ledger_entry",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("pipeline", sa.String(64), primary_key=True),
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
    )
    _create_interval()


def _create_backfill() -> None:
    op.create_table(
        "backfill",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(160), primary_key=True),
        sa.Column("key", sa.String(512), nullable=False),
        sa.Column("pipeline", sa.String(64), nullable=False),
        sa.Column("range_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("range_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("mode", sa.String(16), nullable=False),
        sa.Column("only", sa.String(16), nullable=False),
        sa.Column("asked_by", sa.String(256), nullable=False),
        sa.Column("asked_why", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("advanced_at", sa.DateTime(timezone=True)),
        sa.Column("outcome", sa.String(32), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("cancel_asked_by", sa.String(256), nullable=False),
        sa.UniqueConstraint("deployment", "key"),
    )
    op.create_index("ix_backfill_deployment_pipeline_state", "backfill", ["deployment", "pipeline", "state"])


def _create_interval() -> None:
    op.create_table(
        "interval",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("pipeline", sa.String(64), primary_key=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("owner", sa.String(160)),
        sa.Column("generation", sa.Integer()),
        sa.Column("version", sa.BigInteger()),
        sa.Column("written_at", sa.DateTime(timezone=True)),
        sa.Column("offsets", sa.Text()),
        sa.Column("watermark", sa.DateTime(timezone=True)),
        sa.Column("codes", sa.Text()),
        sa.Column("rows", sa.BigInteger()),
        sa.Column("checksum", sa.String(64)),
        sa.Column("late", sa.Boolean()),
        sa.Column("dirty", sa.Text(), nullable=False),
        sa.Column("verified_by", sa.String(160)),
        sa.Column("verified_code", sa.String(128)),
        sa.Column("verified_at", sa.DateTime(timezone=True)),
        sa.Column("base", sa.Text()),
    )
    op.create_index("ix_interval_deployment_pipeline_state", "interval", ["deployment", "pipeline", "state"])
