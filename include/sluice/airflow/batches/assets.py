"""What DAGs notify each other of: the output tables, as Airflow's assets."""

from __future__ import annotations

from airflow.sdk import Asset, AssetAlias


def output_table(table: str) -> Asset:
    """Return the asset of an output table; its events mean that a backfill has published intervals."""
    return Asset(name=table, uri=f"sluice://tables/{table}")


def published(table: str) -> AssetAlias:
    """Return the outlet of a task that may publish to a table: an event follows only where the task says so."""
    return AssetAlias(f"published_{table}")
