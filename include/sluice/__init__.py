"""Sluice runs streaming pipelines on Kafka, Spark and Airflow as one system."""

from importlib import import_module

__version__ = "0.1.0"


def table(name, *, version=None):  # noqa: ANN001, ANN201 - see `__init__.pyi`
    """Return a table of the project for notebooks: `sluice.table("departures").pandas()`; see `interactive.table`.

    Args:
        name: a raw table, or the table of an output.
        version: of Delta; omitted: the newest one, now.
    """
    # Every module of ours imports this one, and is a part of the identity of the code that computes results: what it
    # imports by a statement would be, too, and any change of it would make every interval stale.
    return import_module("sluice.interactive.table").table(name, version=version)
