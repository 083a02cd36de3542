"""What must hold at every step, judged from the truth and the record alone: none of this asks the code under test.

The numbers are those of `docs/invariants.md`: 1 is that at most one attempt commits (the table says that itself, see
`tests.simulation.table`), 7 that unknown is not dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sluice.specs.model.schedule import next_due
from sluice.streams.failures.failure import PLANNED, FailureClass, recorded_class
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.governor import JITTER, POLICIES, STABLE_LEAST
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.watch import WatchFinding, WatchState
from tests.simulation.breach import BreachError
from tests.simulation.database import UNIT
from tests.simulation.machine import Process
from tests.simulation.transitions import HALTING

if TYPE_CHECKING:
    from tests.simulation.ports import Caller
    from tests.simulation.world import World


def start(world: World, process: Process) -> None:
    """A driver starts only if every other one is dead or declared dead, under a growing generation."""
    caller, forced = world.starting, world.database.forced
    assert caller is not None
    for other in world.machine.processes:
        if other.key == process.key:
            raise BreachError(f"{process.key} was started twice")
        if other.alive and other.generation not in forced and process.generation not in forced:
            raise BreachError(f"{process.key} was started although {other.key} lives and nobody forced that (1, 7)")
        if other.generation > process.generation and process.generation not in forced:
            raise BreachError(f"{process.key} was started after {other.key}")
    if world.database.stop_requested and caller.read_wish == world.database.age:
        raise BreachError(f"{process.key} was started by {caller.name}, who had read that it shall be stopped")
    caller.started = True


def death(world: World, generation: int) -> None:
    """A death goes on record only if it is one (7)."""
    for process in world.machine.processes:
        if process.generation == generation:
            if process.alive:
                raise BreachError(f"{process.key} lives and was recorded as dead (7)")
            return
    raise BreachError(f"generation {generation} never ran and was recorded as dead (7)")


def force(world: World, caller: Caller, generation: int) -> None:
    """Only a person declares dead, and never what the launcher sees alive."""
    if not caller.person:
        raise BreachError(f"{caller.name} declared generation {generation} dead")
    if caller.saw_alive:
        raise BreachError(f"{caller.name} declared generation {generation} dead, which it saw alive (7)")
    world.forced_ever, world.pure = True, False


def unseen(world: World) -> tuple[Attempt, int] | None:
    """Return the newest attempt, and the age of its record, if it was started and the launcher has no trace of it."""
    newest = world.database.recorded[-1] if world.database.recorded else None
    lost = newest is not None and newest.state is AttemptState.BOUND and not world.machine.knows(newest.key)
    return (newest, world.database.epoch) if newest is not None and lost else None


def said_to_stand_still(world: World, before: tuple[Attempt, int] | None, report: DriverReport) -> None:
    """Nobody is told that there is nothing to stop while a driver that was started cannot be found (7).

    Args:
        world: everything.
        before: what `unseen` returned when the stop began.
        report: what the stop returns.
    """
    if before is not None and before == unseen(world) and report.state is DriverState.ABSENT:
        raise BreachError(f"a stop said that there is nothing to stop, and {before[0].key} may live (7)")


def wish(world: World, caller: Caller) -> None:
    """A desired state is recorded by a person's request alone: nobody else may revoke one."""
    if not caller.person:
        raise BreachError(f"{caller.name} recorded a desired state; the newest was {world.database.desired(UNIT)}")


def reservation(world: World, caller: Caller, before: Attempt | None, made: Attempt) -> None:
    """The next generation is reserved only after the end of the one before, and for nobody before its time."""
    generation = 0 if before is None else before.generation
    if made.generation != generation + 1:
        raise BreachError(f"generation {made.generation} was reserved after {generation}")
    if world.machine.knows(made.key):
        world.tally["reserve: forgotten generation"] += 1
        return
    world.tally["reserve: won"] += 1
    if world.database.stop_requested and caller.read_wish == world.database.age:
        raise BreachError(f"{made.key} was reserved by {caller.name}, who had read that it shall be stopped")
    if before is None:
        return
    if caller.epoch != world.database.epoch:
        return  # the record was replaced since it was read
    if before.state is not AttemptState.ENDED:
        raise BreachError(f"{made.key} was reserved while generation {generation} is {before.state}")
    desired = world.database.desired(UNIT)
    if desired is not None:
        _patience(world, caller, before, desired)


def _patience(world: World, caller: Caller, before: Attempt, desired: DesiredState) -> None:
    """Nobody's start waits for the backoff; and HALTED ends by a newer desired state alone."""
    assert before.ended_at is not None
    if caller.wished or desired.at > before.ended_at:
        return
    kind = recorded_class(before.failure, before.exit_code)
    policy = POLICIES[kind]
    if caller.governed:
        _planned_rest(world, caller, before, kind)
    if policy.budget == 1:
        raise BreachError(f"{caller.name} follows generation {before.generation}, which is HALTED ({kind})")
    if not caller.governed:
        return
    row = _row(world.database.recorded[: before.generation], desired.at)
    if policy.budget is not None and len(row) >= policy.budget and row[0] - row[-1] < policy.span:
        raise BreachError(f"{caller.name} follows generation {before.generation}, whose budget is spent ({kind})")
    due = before.ended_at + policy.wait(len(row))
    if world.clock.now() < due:
        raise BreachError(f"{caller.name} follows generation {before.generation} before {due} ({kind})")
    name = f"go on: {kind}"
    world.tally[name] += 1


def _planned_rest(world: World, caller: Caller, before: Attempt, kind: FailureClass) -> None:
    """After an end that the plan asks for nobody starts the next before it is due, or before records have come."""
    if kind not in PLANNED:
        return
    cron, now = world.plan.schedule, world.clock.now()
    if cron is not None and now < (due := next_due(cron, before.intended_at)):
        raise BreachError(f"{caller.name} follows generation {before.generation} before it is due at {due}")
    if world.plan.stop_when_idle is not None and kind is FailureClass.IDLE and world.unread_since(before) is None:
        raise BreachError(f"{caller.name} follows generation {before.generation}, and no record has come")


def _row(recorded: list[Attempt], since: datetime) -> list[datetime]:
    """Return the ends, newest first, of attempts that fell young, one after the other, like the newest."""
    newest = recorded[-1]
    kind = recorded_class(newest.failure, newest.exit_code)
    row: list[datetime] = []
    for attempt in reversed(recorded):
        if attempt.ended_at is None or attempt.ended_at < since:
            break
        if recorded_class(attempt.failure, attempt.exit_code) is kind:
            row.append(attempt.ended_at)
        elif recorded_class(attempt.failure, attempt.exit_code) in PLANNED:
            break  # that one had worked
        if attempt.ended_at - (attempt.bound_at or attempt.intended_at) >= STABLE_LEAST:
            break
    return row


def finding(world: World, generation: int, found: WatchFinding) -> None:
    """A watch is red only for a proven or declared death that nobody asked for, and green only with a reason."""
    world.tally[f"watch: {found.state}"] += 1
    if found.state == WatchState.DIED and generation not in world.database.forced:
        if any(process.alive for process in world.machine.processes if process.generation == generation):
            raise BreachError(f"a watch said that generation {generation} died, and it lives (7)")
        if world.settled and world.database.stop_requested:
            raise BreachError(f"a watch was red for generation {generation}, which was asked to stop")
    if found.state in {WatchState.DIED, WatchState.COMPLETED} and generation not in world.database.forced:
        _ended_as_found(world, generation, found)
    if found.state == WatchState.SUPERSEDED and not any(p.generation > generation for p in world.machine.processes):
        newest = world.database.latest_attempt(UNIT)
        if world.settled and (newest is None or newest.generation <= generation):
            raise BreachError(f"a watch gave generation {generation} up to one that does not exist")


def _ended_as_found(world: World, generation: int, found: WatchFinding) -> None:
    """A watch is red for no end that the plan asks for, and green for no other."""
    ends = [process.report for process in world.machine.processes if process.generation == generation]
    kinds = {recorded_class(None, end.exit_code) for end in ends if end.dead}
    planned = bool(kinds) and kinds <= PLANNED
    if not world.folder_lost and planned != (found.state == WatchState.COMPLETED):
        raise BreachError(f"a watch said {found.state} of generation {generation}, which ended as {kinds}")


def tells(before: Sequence[datetime], ended_at: datetime | None) -> None:
    """Of what is HALTED, somebody is told once."""
    if ended_at is not None and any(at >= ended_at for at in before):
        raise BreachError(f"the reconciler tells again of an end at {ended_at}")


def rest(world: World) -> None:
    """Without a fault, a stop that is done has ended every driver: a submit that crosses it cannot miss it."""
    if world.pure and world.database.stop_requested and world.machine.alive:
        raise BreachError(f"a stop is done and {world.machine.alive[0].key} lives, although nothing went wrong")


def lawful_halt(world: World, now: datetime) -> None:
    """HALTED is said only of what fell for good or too often since it was last wished for."""
    newest, desired = world.database.recorded[-1], world.database.desired(UNIT)
    kind = recorded_class(newest.failure, newest.exit_code)
    if desired is None or desired.state is Desired.STOPPED or newest.ended_at is None or newest.ended_at < desired.at:
        raise BreachError(f"generation {newest.generation} is called HALTED without a reason")
    if kind not in HALTING:
        raise BreachError(f"generation {newest.generation} is called HALTED for {kind}")
    policy = POLICIES[kind]
    assert policy.budget is not None
    ends = [a for a in world.database.recorded if a.ended_at is not None and a.ended_at >= desired.at]
    alike = [end for end in ends if recorded_class(end.failure, end.exit_code) is kind]
    if len(alike) < policy.budget or now < newest.ended_at - timedelta(seconds=1):
        raise BreachError(f"generation {newest.generation} is called HALTED after {len(alike)} ends by {kind}")
    world.tally[f"halt: {kind}"] += 1


def came_true(world: World) -> None:
    """At rest the desired state holds: running has one driver, bound and the newest on record; stopped has none."""
    desired, newest = world.database.desired(UNIT), world.database.latest_attempt(UNIT)
    ended = {attempt.generation for attempt in world.database.recorded if attempt.state is AttemptState.ENDED}
    given_up = ended & world.database.forced  # a person's word; should one live all the same, the fence is there
    living = [process for process in world.machine.alive if process.generation not in given_up]
    if desired is not None and not world.replaced and desired.state is not world.wanted:
        raise BreachError(
            f"the desired state on record is {desired.state}; the last one that anybody asked for was {world.wanted}"
        )
    if desired is None:
        return
    if desired.state is Desired.STOPPED:
        seen = [process for process in living if world.machine.knows(process.key)]
        if seen:
            raise BreachError(f"{seen[0].key} lives for ever although a stop is on record")
        return
    if not living and _rests(world, newest):
        return
    if [process.key for process in living] != ([newest.key] if newest else []):
        raise BreachError(f"it shall run; alive: {[p.key for p in living]}, on record: {newest}")
    if newest is None or newest.state is not AttemptState.BOUND:
        raise BreachError(f"it runs, and its record says {newest}")


def _rests(world: World, newest: Attempt | None) -> bool:
    """Whether no driver is to live now: it ended as planned, and what starts the next one is still to come."""
    if newest is None or newest.ended_at is None or recorded_class(newest.failure, newest.exit_code) not in PLANNED:
        return False
    now = world.clock.now()
    if world.plan.schedule is not None:
        return now < next_due(world.plan.schedule, newest.intended_at) + _BEGINS_WITHIN
    idle = POLICIES[FailureClass.IDLE].longest * (1 + JITTER)
    return world.plan.stop_when_idle is not None and now < newest.ended_at + max(RECORDS_COME, idle) + _BEGINS_WITHIN


_BEGINS_WITHIN = timedelta(minutes=3)
RECORDS_COME = timedelta(minutes=10)
