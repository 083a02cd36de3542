"""A backfill keeps which content of changing static inputs it computes with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; what was asked before asked for what is on record."""
    with op.batch_alter_table("backfill") as table:
        table.add_column(sa.Column("static", sa.String(16), nullable=False, server_default="recorded"))
