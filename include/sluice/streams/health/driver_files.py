"""What a driver writes for its observers: its executors, and the address of its Spark UI. Only the driver knows them.

A driver whose last worker died stays alive, plans a batch and waits, forever if need be. It writes its executors into a
small file of its unit, at its start and whenever they change.
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


def spark_ui_address(progress: Path, unit: str, generation: int) -> str | None:
    """Return the address of a generation's Spark UI; None if it has told none yet: its first batch is not done.

    Args:
        progress: the folder with the progress files.
        unit: the driver's name in the specs.
        generation: the attempt's.
    """
    for file in sorted(progress.glob("*.json")):
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # it is being replaced, or is none: another stream of the unit may have said it too
        if isinstance(found, dict) and (found.get("unit"), found.get("generation")) == (unit, generation):
            return str(found["spark_ui"]) if found.get("spark_ui") else None
    return None
