"""Instants out of Spark: as microseconds, because PySpark hands out timestamps without a zone, ambiguous once a year.

On Spark's side they are `unix_micros(column)`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(microseconds: int) -> datetime:
    """Return the instant (UTC) of a `unix_micros`."""
    return _EPOCH + timedelta(microseconds=microseconds)
