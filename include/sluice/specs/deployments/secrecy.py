"""Which settings hold secrets: their values belong into mounted files, never into a spec or a message."""

from __future__ import annotations

import re

_SECRET = re.compile(r"passw|secret|token|credential|jaas\.config|(access|private|api)[._]?key", re.IGNORECASE)
_HARMLESS = re.compile(
    r"\.(enabled|file|location|path|class|type|provider|interval|ms|client\.id|endpoint\.url)$", re.IGNORECASE
)


def is_secret(key: str) -> bool:
    """Whether a setting of this name holds a secret, judged by its name."""
    return _SECRET.search(key) is not None and _HARMLESS.search(key) is None


def connection_variable(connection: str) -> str:
    """Return the variable that holds the URL of a connection which a spec names."""
    return f"SLUICE_CONNECTION_{connection.upper()}"
