"""Checks the lives of many units at once: their records are read together, the launcher is asked for one by one.

What was read together may be a moment old when the last unit is checked. That does no harm: whatever is put on record
by it is recorded once, or loses a race and is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import Attempt, AttemptRecords
from sluice.streams.life.life import UnitLife
from sluice.streams.life.status import RecordedUnit, UnitStatus


@dataclass(frozen=True)
class UnitStatuses:
    """What was seen of units, and why some could not be checked: that proves nothing, and concerns no other."""

    by_unit: Mapping[str, UnitStatus]
    failed: Mapping[str, Exception]


@dataclass(frozen=True)
class Lives:
    """The lives of all units of a deployment, whether or not a spec names them now.

    Attributes:
        registry: has the desired states and attempts.
        of: returns the life of one unit.
        unread: returns since when (UTC) records were seen that came after attempts ended idle, by unit, in a few
            queries.
    """

    registry: AttemptRecords
    of: Callable[[str], UnitLife]
    unread: Callable[[Collection[Attempt]], Mapping[str, datetime]] = lambda _attempts: {}

    def observe(self, units: Collection[str]) -> UnitStatuses:
        """Return what is recorded and seen of each unit.

        Raises:
            UnreachableError: the control database could not be queried; nothing is known of any.
        """
        return self._each(units, lambda life, records: life.observe(records))

    def record_ends(self, units: Collection[str]) -> UnitStatuses:
        """Do the same, and put on record what the launcher proves; see `UnitLife.record_end`.

        Raises:
            UnreachableError: as for `observe`.
        """
        return self._each(units, lambda life, records: life.record_end(records))

    def _each(self, units: Collection[str], observe: Callable[[UnitLife, RecordedUnit], UnitStatus]) -> UnitStatuses:
        desired_states, attempts = self.registry.newest_desired_states(units), self.registry.newest_attempts(units)
        idle = [a for a in attempts.values() if a.failure is FailureClass.IDLE]
        unread = self.unread(idle) if idle else {}
        by_unit: dict[str, UnitStatus] = {}
        failed: dict[str, Exception] = {}
        for unit in units:
            try:
                by_unit[unit] = observe(
                    self.of(unit), RecordedUnit(desired_states.get(unit), attempts.get(unit), unread.get(unit))
                )
            except Exception as error:  # noqa: BLE001 - whatever happens to one, the others must still be checked
                failed[unit] = error
        return UnitStatuses(by_unit, failed)
