"""One history: some operations at once, what goes wrong meanwhile, and how it ends once nothing goes wrong any more.

A history is a function of its choices, so a seed names it, and a list of choices can be shrunk. Each has its own mix of
operations and faults (many none at all), because rare combinations need the others out of their way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sluice.airflow.streams.stream_request import UnitCommand
from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.streams.failures.exits import ExitCode
from tests.simulation import rules
from tests.simulation.breach import BreachError
from tests.simulation.choices import Choices
from tests.simulation.code import Code
from tests.simulation.crew import Actor, Crew
from tests.simulation.ending import settle
from tests.simulation.faults import EXITS, FAULTS, ONE_OF, TOGETHER, happen
from tests.simulation.operations import PERSONS, new_run, person, reconciler, triggerer, work_on
from tests.simulation.transitions import Tally
from tests.simulation.world import DAY, Run, World

SHARE_OF_FAULTS = 0.3
SHARE_OF_POISON = 0.06
TICK = 0.05
"""Seconds that pass with each step."""

PLANS: Mapping[int, tuple[RunPlan, ExitCode]] = {
    0: (RunPlan("0 * * * *"), ExitCode.COMPLETED),
    1: (RunPlan(None, timedelta(minutes=30)), ExitCode.IDLE),
}
"""The plan of some histories, by how long they are, and how drivers end by it."""
_EVERY = 8

ASKED = (
    UnitCommand.START,
    UnitCommand.STOP,
    UnitCommand.RESTART,
    UnitCommand.RESUME,
    UnitCommand.FORCE,
    UnitCommand.FOLLOW,
)


@dataclass(frozen=True)
class Outcome:
    """How a history went.

    Attributes:
        breach: what must not have happened; empty if nothing.
        choices: what made it.
        told: what happened, if asked for.
    """

    breach: str
    choices: Sequence[int]
    told: Sequence[str] = ()


def play(crew: Crew, code: Code, source: int | Sequence[int], tally: Tally, *, tells: bool = False) -> Outcome:
    """Play a history.

    Args:
        crew: carries it out.
        code: the code under test.
        source: a seed, or choices.
        tally: counts its transitions.
        tells: write down what happens.
    """
    told: list[str] | None = [] if tells else None
    choices = Choices(source)
    world = World(crew, code, choices, tally, told)
    breach = ""
    try:
        History(world).play()
    except Exception as error:  # noqa: BLE001 - whatever the code under test raises and nobody expects
        breach = str(error) if isinstance(error, BreachError) else repr(error)
    finally:
        _dismiss(world)
    return Outcome(breach, choices.made, told or ())


class History:
    """The conductor: decides at each step who goes on, and what else happens."""

    def __init__(self, world: World) -> None:
        self._world = world
        choices = world.choices
        enabled: list[str] = []
        if choices.chance(0.75):
            for faults in TOGETHER:
                if choices.chance(SHARE_OF_FAULTS):
                    enabled += faults
            enabled += choices.pick(ONE_OF)
        world.enabled = frozenset(enabled)
        self._faults = [fault for fault in enabled if fault in FAULTS or fault == "worker dies"]
        self._copies = "database is restored" in enabled
        if choices.chance(SHARE_OF_POISON):
            world.poison = choices.pick(EXITS)
        self._steps = 80 + choices.below(140)
        self._operations = 3 + choices.below(7)
        world.plan, world.machine.planned_end = PLANS.get(self._steps % _EVERY, (ALL_THE_TIME, None))
        self._runs = 0

    def play(self) -> None:
        """Play it to its end.

        Raises:
            BreachError: something happened that must not.
        """
        world = self._world
        if world.choices.chance(0.6):
            person(world, "start", stands=False)
            if world.choices.chance(0.5):
                world.runs.append(Run("before", UnitCommand.START, "watch", 1, world.clock.now() + DAY))
        world.crew.play(self._direct)
        settle(world)

    def _direct(self) -> Actor | None:
        """Decide who goes on; None ends the play."""
        world = self._world
        world.clock.sleep(TICK)
        while self._steps > 0:
            self._steps -= 1
            moving = world.moving
            if not moving:
                rules.rest(world)
                if not self._operations:
                    return None
            chosen = self._step(moving)
            if chosen is not None:
                return chosen
        return None

    def _step(self, moving: list[Actor]) -> Actor | None:
        """Do one thing; return who goes on, or None if it was something else."""
        world, choices = self._world, self._world.choices
        dice = choices.below(20)
        if dice < 8 and world.crew.current in moving:
            return world.crew.current
        if dice < 13 and moving:
            return choices.pick(moving)
        if dice < 15:
            self._drive()
        elif dice < 17 and self._faults:
            return self._fault(moving)
        elif self._operations and (not moving or dice >= 17) and len(moving) < 4:
            self._operations -= 1
            return self._begin()
        if self._copies and not self._steps % 8:
            world.database.copy()
        return None

    def _drive(self) -> None:
        world = self._world
        awake = [process for process in world.machine.alive if not process.paused]
        if not awake:
            return
        process = world.choices.pick(awake)
        for _ in range(1 + world.choices.below(4)):
            if process.alive:
                world.machine.work(process)
        if world.poison is not None and process.alive and process.driver.began:
            world.machine.die(process, world.poison)

    def _fault(self, moving: list[Actor]) -> Actor | None:
        """Let something go wrong; a worker that dies does so as soon as it goes on, which is now."""
        world = self._world
        fault = world.choices.pick(self._faults)
        if fault != "worker dies":
            happen(world, fault)
            return None
        standing = [actor for actor in moving if actor.at]
        if not standing:
            return None
        victim = world.choices.pick(standing)
        victim.crashing = True
        world.happens(fault)
        world.tell(f"{victim.name} dies at {victim.at}")
        world.tally[f"crash at: {victim.at}"] += 1
        return victim

    def _begin(self) -> Actor | None:
        """Begin another operation."""
        world, choices = self._world, self._world.choices
        waiting = [run for run in world.runs if run.task not in ("", "watch")]
        dice = choices.below(10)
        if dice < 4:
            does = choices.pick(tuple(PERSONS))
            return world.act(f"person: {does}", lambda: person(world, does))
        if dice < 6:
            self._runs += 1
            asked = choices.pick(ASKED)
            if asked is UnitCommand.FOLLOW and world.plan.schedule is not None:
                asked = UnitCommand.SCHEDULED
            return work_on(world, new_run(world, f"run{self._runs}", asked))
        if dice < 8 and waiting:
            self._operations += choices.below(2)
            return work_on(world, choices.pick(waiting))
        if dice == 8:
            return world.act("triggerer", lambda: triggerer(world))
        return world.act("reconciler", lambda: reconciler(world))


def _dismiss(world: World) -> None:
    """End everybody who still stands somewhere."""
    world.settled = True

    def die() -> Actor | None:
        for actor in world.moving:
            actor.crashing = True
            return actor
        return None

    world.crew.play(die)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the code under test from logging a line per observation."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
