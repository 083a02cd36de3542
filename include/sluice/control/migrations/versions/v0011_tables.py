"""The tables of the first release. A new database gets today's tables at once; this is where older ones begin."""

from __future__ import annotations

revision = "0011"  # databases of development versions that have it hold the tables of the first release
down_revision = None


def upgrade() -> None:
    """Change nothing: a database at this revision has its tables."""
