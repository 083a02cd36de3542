"""What was told of the deadlines of streams."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create one table."""
    op.create_table(
        "deadline",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("unit", sa.String(64), primary_key=True),
        sa.Column("stream", sa.String(128), primary_key=True),
        sa.Column("deadline", sa.String(16), primary_key=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("missed", sa.Boolean(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True)),
    )
