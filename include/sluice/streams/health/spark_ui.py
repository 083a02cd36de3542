"""Finds the Spark UI of a driver: only the driver knows its port, and says it in the progress files that it writes."""

from __future__ import annotations

import json
from pathlib import Path


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
