"""What the living driver of a unit warned of when it started."""

from __future__ import annotations

from pathlib import Path

from sluice.streams.life.driver_files import warnings_of
from sluice.streams.life.status import UnitStatus


def start_warnings(status: UnitStatus, file: Path) -> tuple[str, ...]:
    """Return a sentence for each warning; nothing if no driver lives.

    Args:
        status: of the unit.
        file: that of its drivers.
    """
    if status.attempt is None or not status.alive:
        return ()
    generation = status.attempt.generation
    warnings = warnings_of(file, status.unit, generation)
    return tuple(f"{status.unit}: when generation {generation} started, {warning}" for warning in warnings)
