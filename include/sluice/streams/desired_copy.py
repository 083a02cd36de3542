"""A copy of all desired states beside the tables: what says which units are to run when the control database is lost.

The control database decides; the copy only fills in what it has no record of. A deployment that lives marks its copy
each minute. So a second control database beside a living one, such as that of a shell without `SLUICE_CONTROL_URL`,
takes nothing over: it would start drivers that fence the living ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from sluice.clock import Clock
from sluice.errors import CorruptionError
from sluice.storage.objects import Objects
from sluice.streams.life.attempts import DesiredState

LEFT_ALONE = timedelta(minutes=5)
"""A copy that nobody has marked for so long belongs to a control database that is lost."""
_MARKED_EACH = timedelta(seconds=30)
_NAME = "units.json"


class DesiredRecords(Protocol):
    """Desired states of all units. Every method may raise UnreachableError."""

    def all_desired_states(self) -> Mapping[str, DesiredState]:
        """Return the latest desired state of each unit that has one, declared or not."""
        ...

    def restore_desired_states(self, states: Collection[DesiredState]) -> None:
        """Record desired states of units that have none; whatever is requested meanwhile counts as newer."""
        ...


@dataclass(frozen=True)
class KeptStates:
    """What a copy holds.

    Attributes:
        marked: when its deployment lived last (UTC).
        units: the latest desired state of each unit, by name.
    """

    marked: datetime
    units: Mapping[str, DesiredState] = field(default_factory=dict)


@dataclass(frozen=True)
class Restoring:
    """What came of a comparison with the copy.

    Attributes:
        restored: units whose desired state is on record again.
        waiting: units without one on record, whose copy was marked a moment ago by another control database.
        until: when they are restored (UTC); None if none waits.
    """

    restored: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    until: datetime | None = None


@dataclass(frozen=True)
class DesiredCopy:
    """The copy of one deployment.

    Attributes:
        objects: where it is.
        clock: gives the time.
    """

    objects: Objects
    clock: Clock

    def compare(self, records: DesiredRecords) -> Restoring:
        """Restore what the records lack, if no other control database marks the copy; copy what they have. Repeatable.

        Of two that compare at once the slower one may write what is a moment old; the next comparison mends it.

        Raises:
            UnreachableError: the records or the storage do not answer.
            CorruptionError: the copy cannot be read; nothing was changed.
        """
        now, kept, own = self.clock.now(), self._read(), records.all_desired_states()
        age = abs(now - kept.marked)  # also of a clock that was ahead
        lacking = {unit: state for unit, state in kept.units.items() if unit not in own}
        names = tuple(sorted(lacking))
        if lacking:
            if age < LEFT_ALONE:  # it is not ours to write, either: who owns it would take over what we add
                return Restoring(waiting=names, until=kept.marked + LEFT_ALONE)
            records.restore_desired_states(tuple(lacking.values()))
            own = records.all_desired_states()
        if own and (own != kept.units or age >= _MARKED_EACH):
            self.objects.put(_NAME, _adapter().dump_json(KeptStates(now, own), indent=1))
        return Restoring(restored=names)

    def _read(self) -> KeptStates:
        if (text := self.objects.read(_NAME)) is None:
            return KeptStates(self.clock.now())
        try:
            return _adapter().validate_json(text)
        except ValidationError as error:
            raise CorruptionError(
                f"{self.objects.place(_NAME)} is no copy of desired states: {error}.",
                fix="delete it: it is written again from the control database. If that is lost, too, restore the copy, "
                "or start each unit that is to run with `sluice streams start`.",
            ) from error


@cache
def _adapter() -> TypeAdapter[KeptStates]:
    return TypeAdapter(KeptStates)
