"""When a driver last said something: it rewrites a small file after each batch, and every few seconds while idle."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from sluice.streams.failures.failure import Failure, from_record


def last_report(file: Path) -> datetime | None:
    """Return the time in a stream's progress file (UTC); None if there is no such file, or none that can be read."""
    try:
        return datetime.fromisoformat(json.loads(file.read_text(encoding="utf-8"))["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it proves nothing by its absence


def ended_alone(file: Path, generation: int) -> Failure | None:
    """Return why a driver of this generation has ended one of its streams and goes on; None if it has not."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(said, dict) or said.get("generation") != generation:
        return None  # what an older driver said holds no longer
    return from_record(said.get("ended"))
