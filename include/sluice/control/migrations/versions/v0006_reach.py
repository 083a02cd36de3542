"""Which topic an interval's offsets count in, and what a resumed backfill had done before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add three columns, and drop what was indexed without them: the next refresh brings it back."""
    op.execute(sa.text("DELETE FROM interval"))
    op.execute(sa.text("DELETE FROM ledger"))
    op.add_column("interval", sa.Column("topics", sa.Text()))
    op.add_column("ledger", sa.Column("raw_topics", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("backfill", sa.Column("done_before", sa.Integer(), nullable=False, server_default="0"))
