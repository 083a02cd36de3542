"""How outputs with an objective were is on record."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the table."""
    time = sa.DateTime(timezone=True)
    op.create_table(
        "objective_span",
        sa.Column("deployment", sa.String(64), nullable=False),
        sa.Column("output", sa.String(400), nullable=False),
        sa.Column("begins_at", time, nullable=False),
        sa.Column("ends_at", time, nullable=False),
        sa.Column("minute", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "output", "begins_at", name="pk_objective_span"),
    )
    op.create_index("ix_objective_span_deployment_ends_at", "objective_span", ["deployment", "ends_at"])
