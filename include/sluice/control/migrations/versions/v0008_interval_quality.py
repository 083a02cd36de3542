"""What became of expectations in intervals, and whose word lets a gate's failure pass."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create one table, and name the failed backfill that a request accepts."""
    op.create_table(
        "interval_quality",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("pipeline", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(32), primary_key=True),
        sa.Column("starts_at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("checksum", sa.String(64), nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("found_by", sa.String(160), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("backfill", sa.Column("accepts", sa.String(160), nullable=False, server_default=""))
