"""How a history ends: nothing goes wrong any more, everybody finishes or is gone, and the reconciler does its rounds.

Then the desired state must hold. A person acts only where the code says that a person must, and where that is the rule.
"""

from __future__ import annotations

from typing import Any

from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.launcher import DriverState
from tests.simulation import rules
from tests.simulation.breach import BreachError
from tests.simulation.crew import Actor
from tests.simulation.faults import LONGEST_WAIT
from tests.simulation.machine import Process
from tests.simulation.operations import person, reconciler, task_of, triggerer
from tests.simulation.ports import Caller
from tests.simulation.world import DAY, World

_WAITS = (1.0, 61.0, 601.0, LONGEST_WAIT, LONGEST_WAIT)
_PACES = (61.0, 5.0, 20.0, 61.0, 300.0, LONGEST_WAIT)
"""Seconds from round to round of a crash loop."""

_LOOPS = 16
_TRIES = 4
_MINUTE = 61.0
_SHARE_OF_DAYS = 0.05
_WORK = 20
"""Steps of a driver in a round: enough to open its table and to be fenced."""


def settle(world: World) -> None:
    """Bring a history to its end and judge it.

    Raises:
        BreachError: the desired state does not hold.
    """
    world.enabled = frozenset()
    world.silent.clear()
    world.machine.room = True
    _finish(world)
    for process in world.machine.alive:
        process.paused = False
    if world.poison is not None:
        _crash_loop(world)
    world.settled = True
    rounds(world)
    if world.choices.chance(_SHARE_OF_DAYS):
        world.clock.sleep(DAY.total_seconds())
        _round(world)
    _let_persons_act(world)
    rules.came_true(world)


def rounds(world: World) -> None:
    """Let some time pass and everybody do what he does, until all is quiet."""
    for wait in _WAITS:
        world.clock.sleep(wait)
        _round(world)


def _round(world: World) -> None:
    for process in world.machine.alive:
        for _ in range(_WORK):
            if process.alive:
                world.machine.work(process)
        if world.poison is not None and process.alive:
            world.machine.die(process, world.poison)
    triggerer(world, stands=False)
    _run_tasks(world)
    reconciler(world, stands=False)
    _run_tasks(world)


def _run_tasks(world: World) -> None:
    for run in world.runs:
        for _ in range(_TRIES):
            if run.task not in ("", "watch"):
                task_of(world, run, stands=False)()


def _finish(world: World) -> None:
    """Let everybody finish, or die where he stands."""
    for actor in list(world.moving):
        if world.choices.chance(0.5):
            actor.crashing = True
            if actor.at:
                world.tell(f"{actor.name} dies at {actor.at}")
                world.tally[f"crash at: {actor.at}"] += 1

    def go_on() -> Actor | None:
        return next(iter(world.moving), None)

    world.crew.play(go_on)


def _crash_loop(world: World) -> None:
    """Let every driver fall by the same cause, until it is HALTED or has been tried often enough."""
    for _ in range(_LOOPS):
        world.clock.sleep(world.choices.pick(_PACES))
        _round(world)
        if _observe(world).halted(world.clock.now()):
            break
    world.poison = None


def _let_persons_act(world: World) -> None:
    """Do what the code asks a person for."""
    status = _observe(world)
    attempt = status.attempt
    if attempt is not None and attempt.state is AttemptState.ENDED and status.alive:
        if not world.forced_ever:
            raise BreachError(f"{attempt.key} is on record as ended and lives")
        person(world, "stop", stands=False)
        person(world, "start", stands=False)
        rounds(world)
    elif attempt is not None and attempt.state is AttemptState.BOUND and not world.machine.knows(attempt.key):
        if not world.folder_lost:
            raise BreachError(f"{attempt.key} is on record as started, and never was")
        if not world.database.stop_requested:
            person(world, "force", stands=False)
            rounds(world)
    status = _observe(world)
    if status.desired is not None and status.halted(world.clock.now()):
        _resume(world)


def _resume(world: World) -> None:
    """Check that HALTED is right, that somebody knows, and that it goes on by a person's word."""
    world.clock.sleep(_MINUTE)  # it may have fallen in the last round: the next one tells
    _round(world)
    newest = world.database.recorded[-1]
    rules.lawful_halt(world, world.clock.now())
    if any(process.report.state is DriverState.RUNNING for process in _drivers_of(world, newest)):
        raise BreachError(f"{newest.key} is called HALTED, and lives")
    if not any(newest.ended_at is not None and at >= newest.ended_at for at in (*world.alerts, *world.attended)):
        raise BreachError(f"{newest.key} is HALTED, and nobody was told")
    runs = len(world.runs)
    rounds(world)
    if len(world.runs) > runs:
        raise BreachError(f"{newest.key} is HALTED and told, and runs are triggered again and again")
    person(world, "resume", stands=False)
    rounds(world)


def _drivers_of(world: World, attempt: Attempt) -> list[Process]:
    return [process for process in world.machine.processes if process.key == attempt.key]


def _observe(world: World) -> Any:  # noqa: ANN401 - a sighting of the code under test
    return world.life(Caller("end", stands=False)).observe()
