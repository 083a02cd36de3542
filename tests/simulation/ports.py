"""The ports as one operation sees them: before each call, and after some, others may move, and its process may die.

Arbitrary things happen in between: an answer may be late (and stale), lost (the call took effect, nobody heard of it),
or refused because the other side is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from sluice.errors import UnreachableError
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import Attempt, Desired, DesiredState, LostRaceError
from sluice.streams.life.launcher import DriverReport, DriverState, Job
from tests.simulation import rules

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TypeVar("T")

LATE = 0.25
LOST = 0.1


@dataclass
class Caller:
    """One operation.

    Attributes:
        name: for people.
        person: it may record desired states.
        stands: others may move while it calls.
        governed: it obeys backoff and HALTED.
        wished: it has recorded a desired state itself.
        read_wish: the age of the database when it last read the newest wish.
        epoch: of the database, when it began.
        saw_alive: the driver that it checked last was alive.
        started: it started a driver.
    """

    name: str
    person: bool = False
    stands: bool = True
    governed: bool = False
    wished: bool = False
    read_wish: tuple[int, int] = (-1, 0)
    epoch: int = 0
    saw_alive: bool = False
    started: bool = False


class Gate:
    """What both ports share."""

    def __init__(self, world: World, caller: Caller) -> None:
        self._world = world
        self._caller = caller

    def _call(self, name: str, silent: str, call: Callable[[], T]) -> T:
        world, caller = self._world, self._caller
        if not caller.stands:
            return call()
        world.crew.stand(name)
        if silent in world.silent:
            world.tell(f"{caller.name}: {name}: no answer")
            if name == "find":
                world.tally["find: silent"] += 1
            raise UnreachableError(f"the {silent} does not answer.")
        answer = call()
        world.tell(f"{caller.name}: {name}: {answer}")
        return self._delivered(name, answer)

    def _delivered(self, name: str, answer: T) -> T:
        world = self._world
        if "answer is late" in world.enabled and world.choices.chance(LATE):
            world.happens("answer is late")
            world.crew.stand(name)
        if "answer is lost" in world.enabled and world.choices.chance(LOST):
            world.happens("answer is lost")
            raise UnreachableError("the connection broke.")
        return answer


class DatabaseGate(Gate):
    """The control database as one operation sees it."""

    def desired(self, unit: str) -> DesiredState | None:
        def read() -> DesiredState | None:
            self._caller.read_wish = self._world.database.age
            return self._world.database.desired(unit)

        return self._call("desired", "database", read)

    def set_desired_state(self, unit: str, state: Desired, *, by: str, why: str) -> DesiredState:
        def write() -> DesiredState:
            rules.wish(self._world, self._caller)
            self._caller.wished = True
            self._world.wanted = state
            return self._world.database.set_desired_state(unit, state, by=by, why=why)

        return self._call("desire", "database", write)

    def latest_attempt(self, unit: str) -> Attempt | None:
        return self._call("latest_attempt", "database", lambda: self._world.database.latest_attempt(unit))

    def newest_wishes(self, units: Collection[str]) -> Mapping[str, DesiredState]:
        return self._call("newest_wishes", "database", lambda: self._world.database.newest_desired_states(units))

    def newest_attempts(self, units: Collection[str]) -> Mapping[str, Attempt]:
        return self._call("newest_attempts", "database", lambda: self._world.database.newest_attempts(units))

    def attempts(self, unit: str, *, newest: int | None = None) -> Sequence[Attempt]:
        return self._call("attempts", "database", lambda: self._world.database.attempts(unit, newest=newest))

    def intend(self, unit: str, *, after_generation: int, key: str, generation: int | None = None) -> Attempt:
        def reserve() -> Attempt:
            world = self._world
            before = world.database.latest_attempt(unit)
            try:
                made = world.database.intend(unit, after_generation=after_generation, key=key, generation=generation)
            except LostRaceError:
                world.tally["reserve: lost the race"] += 1
                raise
            rules.reservation(world, self._caller, before, made)
            return made

        return self._call("intend", "database", reserve)

    def bind(self, unit: str, generation: int) -> Attempt:
        return self._call("bind", "database", lambda: self._world.database.bind(unit, generation))

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
        def record() -> Attempt:
            if failure is FailureClass.FORCED:
                rules.force(self._world, self._caller, generation)
            return self._world.database.end(
                unit, generation, exit_code=exit_code, reason=reason, failure=failure, at=at
            )

        return self._call("end", "database", record)


class LauncherGate(Gate):
    """The launcher as one operation sees it."""

    def find(self, key: str) -> DriverReport:
        self._caller.saw_alive = False
        report = self._call("find", "launcher", lambda: self._world.machine.find(key))
        self._caller.saw_alive = report.state is DriverState.RUNNING
        return report

    def shortage(self, job: Job) -> str:
        return self._call("lack", "launcher", lambda: self._world.machine.shortage(job))

    def submit(self, key: str, job: Job) -> DriverReport:
        """Hold the key for a moment in which others can check, and the submitter can die."""
        world, caller = self._world, self._caller

        def start() -> DriverReport:
            world.starting = caller
            return world.machine.submit(key, job)

        if caller.stands and "launcher" not in world.silent and not world.machine.knows(key):
            world.crew.stand("submit")
            if key not in world.machine.being_submitted:
                world.machine.being_submitted.add(key)
                try:
                    world.crew.stand("submit")
                finally:
                    world.machine.being_submitted.discard(key)
        return self._call("submit", "launcher", start)

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        """Ask first: the driver may finish its batch until the deadline."""
        world = self._world
        self._call("stop", "launcher", lambda: world.machine.ask_to_stop(key))
        return self._call("stop", "launcher", lambda: world.machine.stop(key, deadline_seconds))
