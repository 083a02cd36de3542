"""What goes wrong around a unit, by name. Each does it, or returns False if it cannot happen now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.attempts import AttemptState
from sluice.streams.life.governor import JITTER, POLICIES
from tests.simulation.machine import Process
from tests.simulation.world import DAY, World

LONGEST_WAIT = max(policy.longest for policy in POLICIES.values()).total_seconds() * (1 + JITTER)

JUMPS = (1.0, 12.0, 61.0, 601.0, LONGEST_WAIT, DAY.total_seconds() + 1)
"""Seconds: about a settled death, a patient stop, a stop's deadline, a backoff, a watch."""

EXITS: tuple[int, ...] = (-9, -15, *ExitCode)


def happen(world: World, name: str) -> None:
    """Let a fault happen, if it can."""
    if FAULTS[name](world):
        world.happens(name)


def _dies(world: World) -> bool:
    process = _any(world, world.machine.alive)
    if process is not None:
        world.machine.die(process, world.choices.pick(EXITS), speaks=world.choices.chance(0.5))
    return process is not None


def _is_lost(world: World) -> bool:
    process = _any(world, world.machine.alive)
    if process is not None:
        world.machine.die(process, None)
    return process is not None


def _pauses(world: World) -> bool:
    process = _any(world, [process for process in world.machine.alive if not process.paused])
    if process is not None:
        process.paused = True
    return process is not None


def _wakes(world: World) -> bool:
    process = _any(world, [process for process in world.machine.alive if process.paused])
    if process is not None:
        process.paused = False
    return process is not None


def _machine_restarts(world: World) -> bool:
    for process in world.machine.alive:
        world.machine.die(process, None)
    return True


def _silent(port: str) -> Callable[[World], bool]:
    def fall_silent(world: World) -> bool:
        fresh = port not in world.silent
        world.silent.add(port)
        return fresh

    return fall_silent


def _answering(port: str) -> Callable[[World], bool]:
    def answer(world: World) -> bool:
        was_silent = port in world.silent
        world.silent.discard(port)
        return was_silent

    return answer


def _folder_is_lost(world: World) -> bool:
    """Happen once, and to confirmed drivers only: where record and launcher forget at once, nobody can know."""
    recorded = world.database.recorded
    if world.folder_lost or world.moving or not recorded or recorded[-1].state is AttemptState.INTENT:
        return False
    world.folder_lost = True
    world.machine.lose_folder()
    return True


def _checkpoint_is_lost(world: World) -> bool:
    """Happen while no driver writes: see `sluice.delta.writer_log` for what Delta does where one does."""
    if world.machine.alive or not world.machine.processes:
        return False
    world.machine.lose_checkpoint()
    return True


def _restored(world: World) -> bool:
    if not world.database.copies:
        return False
    world.database.restore(world.choices.below(world.database.copies))
    world.replaced = True
    return True


def _database_lost(world: World) -> bool:
    world.database.lose()
    world.replaced = True
    return True


def _time_jumps(world: World) -> bool:
    world.clock.sleep(world.choices.pick(JUMPS))
    return True


def _cleared(world: World) -> bool:
    if not world.runs:
        return False
    run = world.choices.pick(world.runs)
    tasks = ["claim", *(["submit"] if run.generation else []), *(["watch"] if run.until else [])]
    run.task = world.choices.pick(tasks)
    run.until = world.clock.now() + DAY if run.task == "watch" else None
    run.cleared += 1
    return True


def _marked(world: World) -> bool:
    """Mark a run as success or failed: nothing more of it runs, though a worker may still be at it; a person saw it."""
    active = [run for run in world.runs if run.task]
    if active:
        world.choices.pick(active).task = ""
        world.attended.append(world.clock.now())
    return bool(active)


def _room(there: bool) -> Callable[[World], bool]:
    def change(world: World) -> bool:
        changed = world.machine.room is not there
        world.machine.room = there
        return changed

    return change


def _any(world: World, processes: list[Process]) -> Process | None:
    return world.choices.pick(processes) if processes else None


FAULTS: Mapping[str, Callable[[World], bool]] = {
    "driver dies": _dies,
    "driver is lost": _is_lost,
    "driver is paused": _pauses,
    "driver wakes up": _wakes,
    "machine restarts": _machine_restarts,
    "launcher is silent": _silent("launcher"),
    "launcher answers again": _answering("launcher"),
    "database is silent": _silent("database"),
    "database answers again": _answering("database"),
    "state folder is lost": _folder_is_lost,
    "checkpoint is lost": _checkpoint_is_lost,
    "database is restored": _restored,
    "database is lost": _database_lost,
    "time jumps": _time_jumps,
    "room is gone": _room(there=False),
    "room is back": _room(there=True),
    "run is cleared": _cleared,
    "run is marked": _marked,
}

TOGETHER: tuple[tuple[str, ...], ...] = (
    ("driver dies",),
    ("driver is lost", "machine restarts"),
    ("driver is paused", "driver wakes up"),
    ("launcher is silent", "launcher answers again"),
    ("database is silent", "database answers again"),
    ("time jumps",),
    ("checkpoint is lost",),
    ("run is cleared", "run is marked"),
    ("room is gone", "room is back"),
    ("worker dies",),
    ("answer is late",),
    ("answer is lost",),
)
"""Faults that a history has or has not."""

ONE_OF: tuple[tuple[str, ...], ...] = ((), (), ("state folder is lost",), ("database is restored", "database is lost"))
"""A history loses its launcher's memory or its database, not both."""
