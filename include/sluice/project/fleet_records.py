"""What is on record of many units, put together for whoever shows how they stand: a few queries, however many."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sluice.project.project import Project
from sluice.project.stream_looks import newest_looks
from sluice.specs.catalog.catalog import Unit
from sluice.streams.health.fleet import LOOKED_BACK, Standing, UnitRecords, standings


def standings_of(project: Project, units: Collection[Unit], now: datetime) -> list[Standing]:
    """Return how every stream of some units stands.

    Args:
        project: gives the control database.
        units: which.
        now: the present (UTC).

    Raises:
        UnreachableError: the control database could not be asked.
    """
    names, registry = [unit.name for unit in units], project.registry()
    wishes, verdicts = registry.newest_wishes(names), registry.newest_verdicts(names)
    attempts, looks = registry.histories(names, newest=LOOKED_BACK), newest_looks(project).of(names)
    return [
        standing
        for unit in units
        for standing in standings(
            unit,
            UnitRecords(
                wishes.get(unit.name),
                attempts.get(unit.name, ()),
                looks.get(unit.name, {}),
                verdicts.get(unit.name, {}),
            ),
            now,
        )
    ]
