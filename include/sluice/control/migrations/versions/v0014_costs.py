"""What drivers and batches have used is on record, by the day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "process_cost",
        sa.Column("deployment", sa.String(64), nullable=False),
        sa.Column("run", sa.String(256), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("work", sa.String(16), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("cpu_seconds", sa.Float(), nullable=False),
        sa.Column("executor_seconds", sa.Float(), nullable=False),
        sa.Column("counted_cpu", sa.Float(), nullable=False),
        sa.Column("counted_executors", sa.Float(), nullable=False),
        sa.Column("reads", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "run", "day", name="pk_process_cost"),
    )
    op.create_index("ix_process_cost_deployment_day", "process_cost", ["deployment", "day"])
