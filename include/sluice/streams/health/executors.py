"""What a driver says of its executors: it alone knows whether its cluster still gives it any.

A driver whose last worker died lives on, plans a batch and waits, for ever if need be. It writes what it has into a
small file of its unit, at its start and whenever that changes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Executors:
    """How many a driver has, with how many cores together, and since when that is so (UTC)."""

    count: int
    cores: int
    since: datetime


def executors_of(file: Path, unit: str, generation: int | None) -> Executors | None:
    """Return what a generation's driver said; None if it said nothing, or needs none.

    Args:
        file: the unit's.
        unit: the driver's name in the specs.
        generation: the attempt's; None if there is none.
    """
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        if (said["unit"], said["generation"]) != (unit, generation) or said["executors"] is None:
            return None
        return Executors(int(said["executors"]), int(said["cores"]), datetime.fromisoformat(said["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it proves nothing by its absence
