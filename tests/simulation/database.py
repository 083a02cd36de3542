"""The control database of a simulation: it can be copied, put back and lost, and it knows when a record is untrue."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sluice.clock import Clock
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from tests.simulation.transitions import Tally
from tests.twins.registry import InMemoryRegistry

UNIT = "flights"

Copy = tuple[list[DesiredState], list[Attempt]]


class Database(InMemoryRegistry):
    """Implements `sluice.streams.registry.Registry`.

    Attributes:
        epoch: grows whenever it is replaced by something else.
        forced: generations that a person declared dead; no copy forgets that.
    """

    def __init__(self, clock: Clock, tally: Tally, ending: Callable[[int], None]) -> None:
        super().__init__(clock)
        self._tally = tally
        self._ending = ending
        self.epoch = 0
        self.forced: set[int] = set()
        self._copies: list[Copy] = []

    @property
    def wishes(self) -> list[DesiredState]:
        return self._wishes.setdefault(UNIT, [])

    @property
    def age(self) -> tuple[int, int]:
        """What grows with every wish, and whenever it is replaced."""
        return self.epoch, len(self.wishes)

    @property
    def recorded(self) -> list[Attempt]:
        """Attempts, oldest first."""
        return self._attempts.setdefault(UNIT, [])

    @property
    def stop_requested(self) -> bool:
        return bool(self.wishes) and self.wishes[-1].state is Desired.STOPPED

    def bind(self, unit: str, generation: int) -> Attempt:
        before = self._find(unit, generation).state
        after = super().bind(unit, generation)
        if after.state is not before:
            self._tally["attempt: intent to bound"] += 1
        return after

    def end(
        self,
        unit: str,
        generation: int,
        *,
        exit_code: int | None,
        reason: str,
        failure: FailureClass | None = None,
        at: datetime | None = None,
    ) -> Attempt:
        before = self._find(unit, generation).state
        if failure is FailureClass.FORCED:
            self.forced.add(generation)
        else:
            self._ending(generation)
        change = "end repeated" if before is AttemptState.ENDED else f"{before} to ended"
        self._tally[f"attempt: {change}"] += 1
        return super().end(unit, generation, exit_code=exit_code, reason=reason, failure=failure, at=at)

    def copy(self) -> None:
        """Keep a copy of what is on record."""
        self._copies.append((list(self.wishes), list(self.recorded)))

    @property
    def copies(self) -> int:
        return len(self._copies)

    def restore(self, number: int) -> None:
        """Put back a copy."""
        self._replace(self._copies[number])

    def lose(self) -> None:
        self._replace(([], []))

    def _replace(self, content: Copy) -> None:
        self.epoch += 1
        self._wishes[UNIT], self._attempts[UNIT] = list(content[0]), list(content[1])
