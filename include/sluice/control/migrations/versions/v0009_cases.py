"""Cases of quarantined records, and what happened to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create two tables, and name the case that a backfill replays."""
    op.add_column("backfill", sa.Column("replays", sa.String(96), nullable=False, server_default=""))
    op.create_table(
        "quarantine_case",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(96), primary_key=True),
        sa.Column("pipeline", sa.String(64), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_quarantine_case_deployment_pipeline", "quarantine_case", ["deployment", "pipeline"])
    op.create_table(
        "quarantine_event",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("case_id", sa.String(96), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("said_by", sa.String(256), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("backfills", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text()),
    )
