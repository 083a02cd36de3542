"""When a driver last said something: it rewrites a small file after each batch, and every few seconds while idle."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path


def last_report(file: Path) -> datetime | None:
    """Return the time in a stream's progress file (UTC); None if there is no such file, or none that can be read."""
    try:
        return datetime.fromisoformat(json.loads(file.read_text(encoding="utf-8"))["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it proves nothing by its absence
