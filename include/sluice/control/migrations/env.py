"""Runs migrations on the connection, and inside the transaction, that the caller holds."""

from __future__ import annotations

from alembic import context

from sluice.control.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
