"""Where the order of keys broke when topics grew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create one table."""
    op.create_table(
        "order_break",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("topic_id", sa.String(64), primary_key=True),
        sa.Column("partitions", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("topic", sa.String(256), nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("offsets", sa.Text(), nullable=False),
        sa.Column("intended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("grown_at", sa.DateTime(timezone=True)),
        sa.Column("drained", sa.Boolean()),
    )
    op.create_index("ix_order_break_deployment_topic", "order_break", ["deployment", "topic"])
