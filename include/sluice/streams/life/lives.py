"""Looks at the lives of many units at once: their records are read together, the launcher is asked for one by one.

What was read together may be a moment old when the last unit is looked at. That does no harm: whatever is put on record
by it is recorded once, or loses a race and is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sluice.clock import Clock
from sluice.streams.life.attempts import Attempt, AttemptRecords
from sluice.streams.life.launcher import Job, Launcher
from sluice.streams.life.life import UnitLife, anything_goes
from sluice.streams.life.sighting import RecordedUnit, Sighting


@dataclass(frozen=True)
class Looks:
    """What was seen of units, and why some could not be looked at: that proves nothing, and concerns no other."""

    seen: Mapping[str, Sighting]
    failed: Mapping[str, Exception]


class Lives:
    """The lives of all units of a deployment, whether or not a spec names them now."""

    def __init__(
        self,
        registry: AttemptRecords,
        launcher: Launcher,
        *,
        deployment: str,
        job: Callable[[Attempt], Job],
        refuse: Callable[[str], None] = anything_goes,
        clock: Clock | None = None,
    ) -> None:
        self._registry = registry
        self._launcher = launcher
        self._deployment = deployment
        self._job = job
        self._refuse = refuse
        self._clock = clock

    def of(self, unit: str) -> UnitLife:
        """Return the life of one unit."""
        return UnitLife(
            self._registry,
            self._launcher,
            deployment=self._deployment,
            unit=unit,
            job=self._job,
            refuse=self._refuse,
            clock=self._clock,
        )

    def look(self, units: Collection[str]) -> Looks:
        """Return what is recorded and seen of each unit.

        Raises:
            UnreachableError: the control database could not be asked; nothing is known of any.
        """
        return self._each(units, lambda life, records: life.look(records))

    def record_ends(self, units: Collection[str]) -> Looks:
        """Do the same, and put on record what the launcher proves; see `UnitLife.record_end`.

        Raises:
            UnreachableError: as for `look`.
        """
        return self._each(units, lambda life, records: life.record_end(records))

    def _each(self, units: Collection[str], look: Callable[[UnitLife, RecordedUnit], Sighting]) -> Looks:
        wishes, attempts = self._registry.newest_wishes(units), self._registry.newest_attempts(units)
        seen: dict[str, Sighting] = {}
        failed: dict[str, Exception] = {}
        for unit in units:
            try:
                seen[unit] = look(self.of(unit), RecordedUnit(wishes.get(unit), attempts.get(unit)))
            except Exception as error:  # noqa: BLE001 - whatever happens to one, the others must still be looked at
                failed[unit] = error
        return Looks(seen, failed)
