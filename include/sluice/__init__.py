"""Sluice runs streaming pipelines on Kafka, Spark and Airflow as one system."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluice.tables import Table

__version__ = "0.1.0"


def table(name: str, *, version: int | None = None) -> Table:
    """Return a table of the project for a notebook: `sluice.table("departures").pandas()`; see `sluice.tables.table`.

    Args:
        name: a raw table, or the table of an output.
        version: of Delta; omitted: the newest one, now.
    """
    from sluice import tables  # noqa: PLC0415 - every process imports this module, and few read tables

    return tables.table(name, version=version)
