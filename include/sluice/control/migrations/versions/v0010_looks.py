"""What was last seen of each stream."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create a table."""
    op.create_table(
        "stream_look",
        sa.Column("deployment", sa.String(64), primary_key=True),
        sa.Column("unit", sa.String(64), primary_key=True),
        sa.Column("stream", sa.String(128), primary_key=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
    )
