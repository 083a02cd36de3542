"""What people, DAG runs, reconcilers and triggerers do: real code behind gates, and no more glue than Airflow's.

The glue is what `sluice.airflow.{streams,reconciler,trigger,watch}` do around the pure part: which errors are retried,
what is handed from task to task, and what a deferred task does once it is woken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sluice.airflow.streams.stream_request import UnitCommand, UnitRequest
from sluice.airflow.streams.watcher import Hint
from sluice.errors import CorruptionError, RefusedError, SluiceError, SpecError
from sluice.specs.catalog.catalog import Unit
from sluice.specs.units import DeclaredUnit
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.reconcile import ActionKind
from sluice.streams.life.status import RecordedUnit, UnitStatus
from sluice.streams.life.watch import WatchState
from tests.simulation import rules
from tests.simulation.crew import Actor
from tests.simulation.database import UNIT
from tests.simulation.ports import Caller, DatabaseGate
from tests.simulation.world import DAY, Run, World, count_outlook

DECLARED = DeclaredUnit(Unit(UNIT, (UNIT,), ("departures",)))
FINAL = (SpecError, RefusedError, CorruptionError)
"""See `sluice.airflow.failures`."""

BY_ITSELF = (UnitCommand.FOLLOW, UnitCommand.SCHEDULED)
"""What nobody has asked for."""

PERSONS: Mapping[str, Callable[[Any], object]] = {
    "start": lambda life: life.start("ada", "demo"),
    "stop": lambda life: life.stop("bob", "upgrade", 60),
    "restart": lambda life: life.restart("ada", "upgrade", 60),
    "resume": lambda life: life.resume("ada", "repaired"),
    "force": lambda life: life.force("eve", "the machine is gone"),
}
"""The commands of `sluice streams`."""


def person(world: World, does: str, *, stands: bool = True) -> None:
    """Run a command; it may fail, and then a person sees why."""
    caller = Caller(f"person: {does}", person=True, stands=stands)
    try:
        PERSONS[does](world.life(caller))
    except SluiceError as error:
        world.tell(f"{caller.name}: {error}")


def new_run(world: World, run_id: str, asked: UnitCommand) -> Run:
    """Trigger a run of the unit's DAG."""
    run = Run(run_id, asked)
    world.runs.append(run)
    world.tally[f"asked: {asked}"] += 1
    world.tell(f"-- run {run_id}: {asked}")
    return run


def task_of(world: World, run: Run, *, stands: bool = True) -> Callable[[], None]:
    """Return the next task of a run."""
    tasks = {"claim": claim_task, "submit": submit_task, "resume": resume_task}
    return partial(tasks[run.task], world, run, stands=stands)


def claim_task(world: World, run: Run, *, stands: bool) -> None:
    """Do what `stream_<unit>.claim` does."""
    caller = Caller(f"{run.run_id}: claim", person=run.asked not in BY_ITSELF, stands=stands)
    life = world.life(caller)
    request = UnitRequest(UNIT, run.asked, f"ada ({run.run_id})", "asked for", 60.0)
    cleared = run.cleared
    claimed = _tried(world, run, lambda: world.code.stream_request.claim(request, life, life.registry))
    if claimed is None or run.task != "claim" or run.cleared != cleared:
        return
    if claimed.generation is None:
        _end(world, run, "skipped")
        return
    run.generation, run.task = claimed.generation, "submit"


def submit_task(world: World, run: Run, *, stands: bool) -> None:
    """Do what `stream_<unit>.submit` does, and defer."""
    life, generation, cleared = world.life(Caller(f"{run.run_id}: submit", stands=stands)), run.generation, run.cleared
    try:
        attempt = _tried(world, run, lambda: world.code.stream_request.submit(UNIT, generation, life), skips=True)
    except RefusedError:
        if run.cleared == cleared:
            _end(world, run, "skipped")
        return
    if attempt is not None and run.task == "submit" and run.cleared == cleared:
        run.task, run.until = "watch", world.clock.now() + DAY


def resume_task(world: World, run: Run, *, stands: bool) -> None:
    """Do what the watch does once it is woken: see `sluice.airflow.streams.watch`."""
    caller = Caller(f"{run.run_id}: watch", stands=stands)
    until, generation, cleared = run.until, run.generation, run.cleared
    assert until is not None
    try:
        status = world.life(caller).record_end()
    except SluiceError:
        found = None
    else:
        found = world.code.watch.examine(status, generation, now=world.clock.now())
        rules.finding(world, generation, found)
    if run.task != "resume" or run.cleared != cleared:
        return
    if found is not None and found.state == WatchState.DIED:
        _end(world, run, "red")
    elif (found is not None and found.over) or run.hint == Hint.HANDED_OVER or world.clock.now() >= until:
        _end(world, run, "green")
    else:
        run.task = "watch"


def reconciler(world: World, *, stands: bool = True) -> None:
    """Do what `reconcile_streams` does once a minute: observe, decide, trigger at most one run."""
    caller, told_before = Caller("reconciler", stands=stands), tuple(world.alerts)
    ended_at: datetime | None = None

    def observe(_: str) -> Any:  # noqa: ANN401 - a sighting of the code under test
        nonlocal ended_at
        status = world.life(caller).record_end()
        ended_at = status.attempt and status.attempt.ended_at
        count_outlook(world, status)
        return status

    needed = world.code.reconciliation.decide(
        [DECLARED],
        observe=observe,
        active_runs=lambda _: world.at_work,
        notified=lambda _, since: any(at >= since for at in world.alerts),
        now=world.clock.now(),
    )
    if not needed:
        world.tally[f"reconcile: {ActionKind.NOTHING}"] += 1
    for _, action in needed:
        world.tally[f"reconcile: {action.kind}"] += 1
        if action.kind == ActionKind.NOTIFY:
            rules.tells(told_before, ended_at)
        world.tell(f"reconciler: {action.kind}: {action.why}")
        run_id = f"halted__{action.about}" if action.about else f"reconcile__{world.clock.now():%d-%H:%M:%S}"
        if all(run.run_id != run_id for run in world.runs):
            new_run(world, run_id, UnitCommand.FOLLOW)


def triggerer(world: World, *, stands: bool = True) -> None:
    """Do one round of a watcher: observe once, wake what has something to see."""
    make = world.code.watcher.Watch
    watches: dict[Any, list[Run]] = {}
    for run in (run for run in world.runs if run.task == "watch"):
        watches.setdefault(make(UNIT, run.generation, run.until), []).append(run)
    if not watches:
        return
    caller = Caller("triggerer", stands=stands)
    life, database = world.life(caller), DatabaseGate(world, caller)
    statuses: dict[str, UnitStatus] = {}
    try:  # as `sluice.streams.life.lives` does, which holds back what is raised: here all of it shall be seen
        wish, newest = database.newest_wishes([UNIT]).get(UNIT), database.newest_attempts([UNIT]).get(UNIT)
        idle = newest is not None and newest.failure is FailureClass.IDLE
        records = RecordedUnit(wish, newest, world.unread_since(newest) if newest is not None and idle else None)
        statuses[UNIT] = life.record_end(records)
    except SluiceError as error:
        world.tell(f"triggerer: could not check: {error}")
    for watch, hint in world.code.watcher.hints(watches, statuses, world.clock.now()).items():
        for run in (run for run in watches[watch] if run.task == "watch"):
            world.tally[f"hint: {hint}"] += 1
            run.task, run.hint = "resume", str(hint)


def work_on(world: World, run: Run) -> Actor:
    """Let a worker carry out the next task of a run."""
    return world.act(f"{run.run_id}: {run.task}", task_of(world, run))


def _tried(world: World, run: Run, task: Callable[[], Any], *, skips: bool = False) -> Any:  # noqa: ANN401 - the task's
    """Return what a task returns; None if it failed for good, or is to be tried again."""
    cleared = run.cleared
    try:
        return task()
    except FINAL as error:
        world.tell(f"{run.run_id}: {error}")
        if skips and isinstance(error, RefusedError):
            raise
        if run.cleared == cleared:
            _end(world, run, "red")
    except SluiceError as error:
        world.tell(f"{run.run_id}: to be retried: {error}")
        world.tally["run: retried"] += 1
    return None


def _end(world: World, run: Run, how: str) -> None:
    if not run.task:
        return
    world.tally[f"run: {how}"] += 1
    world.tell(f"{run.run_id}: {how}")
    run.task = ""
    if how == "red":
        world.alerts.append(world.clock.now() + timedelta(microseconds=1))
