"""How long records wait, with each verdict; empty for those that were given before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add four columns."""
    for name in ("lag_seconds", "watermark_lag_seconds", "catch_up_seconds", "loss_seconds"):
        op.add_column("verdict", sa.Column(name, sa.Float()))
