"""Desired state, attempts and verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first three tables."""
    op.create_table(
        "desired_state",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("deployment", sa.String(64), nullable=False),
        sa.Column("unit", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("asked_by", sa.String(256), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_desired_state_deployment_unit_id", "desired_state", ["deployment", "unit", "id"])
    op.create_table(
        "attempt",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("unit", sa.String(64), primary_key=True),
        sa.Column("generation", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("key", sa.String(160), nullable=False, unique=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("intended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("bound_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("reason", sa.Text(), nullable=False),
    )
    op.create_table(
        "verdict",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("unit", sa.String(64), primary_key=True),
        sa.Column("stream", sa.String(128), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("health", sa.String(16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("what_to_do", sa.Text(), nullable=False),
        sa.Column("lag_records", sa.BigInteger()),
        sa.Column("batches", sa.BigInteger(), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True)),
        sa.Column("completeness", sa.Float(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
