"""The class of failure that an attempt ended with; empty for those that ended before it was recorded."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add one column."""
    op.add_column("attempt", sa.Column("failure", sa.String(32)))
