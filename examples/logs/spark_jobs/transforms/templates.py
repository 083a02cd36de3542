"""The form of a log message: what is left when its variable parts are left out.

This is the only place that knows how; a miner that learns forms from the messages can stand here instead.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

_VARIABLE = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b", "<address>"),
    (r"\b0x[0-9a-f]+\b", "<hex>"),
    (r"[0-9]+(\.[0-9]+)?", "<number>"),
)


def template_of(message: Column) -> Column:
    """Return the template of a message."""
    for pattern, name in _VARIABLE:
        message = F.regexp_replace(message, pattern, name)
    return message
