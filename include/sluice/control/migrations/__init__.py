"""Alembic's environment: run by `sluice.control.database.migrate`, never by hand."""
