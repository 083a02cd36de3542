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
from sluice.streams.life.life import UnitLife, no_preflight
from sluice.streams.life.status import RecordedUnit, UnitStatus


@dataclass(frozen=True)
class UnitStatuses:
    """What was seen of units, and why some could not be looked at: that proves nothing, and concerns no other."""

    by_unit: Mapping[str, UnitStatus]
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
        refuse: Callable[[str], None] = no_preflight,
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

    def observe(self, units: Collection[str]) -> UnitStatuses:
        """Return what is recorded and seen of each unit.

        Raises:
            UnreachableError: the control database could not be asked; nothing is known of any.
        """
        return self._each(units, lambda life, records: life.observe(records))

    def record_ends(self, units: Collection[str]) -> UnitStatuses:
        """Do the same, and put on record what the launcher proves; see `UnitLife.record_end`.

        Raises:
            UnreachableError: as for `look`.
        """
        return self._each(units, lambda life, records: life.record_end(records))

    def _each(self, units: Collection[str], observe: Callable[[UnitLife, RecordedUnit], UnitStatus]) -> UnitStatuses:
        desired_states, attempts = self._registry.newest_desired_states(units), self._registry.newest_attempts(units)
        by_unit: dict[str, UnitStatus] = {}
        failed: dict[str, Exception] = {}
        for unit in units:
            try:
                by_unit[unit] = observe(self.of(unit), RecordedUnit(desired_states.get(unit), attempts.get(unit)))
            except Exception as error:  # noqa: BLE001 - whatever happens to one, the others must still be looked at
                failed[unit] = error
        return UnitStatuses(by_unit, failed)
