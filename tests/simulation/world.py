"""One unit and all that surrounds it: records, drivers, Airflow's runs and watches, people, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sluice.airflow.streams.stream_request import UnitCommand
from sluice.errors import RefusedError
from sluice.specs.model.schedule import ALL_THE_TIME
from sluice.streams.failures.capacity import NoCapacityError
from sluice.streams.failures.failure import recorded_class
from sluice.streams.life.attempts import Attempt, AttemptState, Desired
from sluice.streams.life.claim import Refuse
from sluice.streams.life.governor import Halt, Hold
from sluice.streams.life.launcher import DriverReport, Job
from tests.simulation import rules
from tests.simulation.choices import Choices
from tests.simulation.code import Code
from tests.simulation.crew import Actor, Crew
from tests.simulation.database import UNIT, Database
from tests.simulation.machine import Machine, Process
from tests.simulation.ports import Caller, DatabaseGate, LauncherGate
from tests.simulation.transitions import HALTING, HELD, Tally
from tests.twins.clock import ManualClock

_REFUSALS = {
    "never requested": "never asked",
    "requested its stop": "stop on record",
    "on record as ended": "ended yet lives",
    "no trace of": "no trace",
}

DAY = timedelta(days=1)


@dataclass
class Run:
    """A run of the unit's DAG.

    Attributes:
        run_id: Airflow's.
        asked: the form's `action`.
        task: the next task, or the one at work: claim, submit, watch (deferred), resume; empty once it has ended.
        generation: what `claim` returned.
        until: when its watch ends.
        hint: what woke the watch.
        cleared: how often; what a worker reports of before counts for nothing.
    """

    run_id: str
    asked: UnitCommand
    task: str = "claim"
    generation: int = 0
    until: datetime | None = None
    hint: str = ""
    cleared: int = 0


class World:
    """Everything that one history is about.

    Attributes:
        enabled: which faults may happen.
        silent: which ports do not answer at the moment.
        pure: no fault has happened, and nobody forced anything.
        replaced: the control database is another one than that in which the last wish was recorded.
        wanted: the last wish that anybody recorded.
        settled: faults are over, and everybody is done.
        plan: when the unit's drivers are to run.
        poison: with this exit code every driver dies soon; None if they do not.
        alerts: when somebody was told that something is wrong.
        attended: when somebody checked a run.
        told: what happened, if somebody listens.
    """

    def __init__(self, crew: Crew, code: Code, choices: Choices, tally: Tally, told: list[str] | None = None) -> None:
        self.crew = crew
        self.code = code
        self.choices = choices
        self.tally = tally
        self.told = told
        self.clock = ManualClock()
        self.database = Database(self.clock, tally, lambda generation: rules.death(self, generation))
        self.machine = Machine(self.clock, tally, self._start, code.table)
        self.enabled: frozenset[str] = frozenset()
        self.silent: set[str] = set()
        self.pure = True
        self.replaced = False
        self.forced_ever = False
        self.folder_lost = False
        self.wanted: Desired | None = None
        self.settled = False
        self.poison: int | None = None
        self.starting: Caller | None = None
        self.alerts: list[datetime] = []
        self.attended: list[datetime] = []
        self.plan = ALL_THE_TIME
        self.runs: list[Run] = []
        self.actors: list[Actor] = []

    def tell(self, what: str) -> None:
        """Note what happens, if somebody listens."""
        if self.told is not None:
            self.told.append(f"{self.clock.now():%H:%M:%S.%f} {what}")

    def happens(self, fault: str) -> None:
        """Note a fault."""
        self.pure = False
        self.tally[f"fault: {fault}"] += 1
        self.tell(f"-- {fault}")

    def life(self, caller: Caller) -> Any:  # noqa: ANN401 - the code under test may be a copy
        """Return the unit's life as one operation sees it."""
        caller.epoch = self.database.epoch
        return observed(self.code.life.UnitLife)(
            DatabaseGate(self, caller),
            LauncherGate(self, caller),
            deployment="local",
            unit=UNIT,
            job=lambda attempt: Job(("driver", str(attempt.generation))),
            clock=self.clock,
            plan=self.plan,
            unread_since=self.unread_since,
        ).seen_by(self, caller)

    def unread_since(self, attempt: Attempt) -> datetime | None:
        """Return when a watcher has seen records; they come some minutes after each driver that ends idle."""
        comes = None if attempt.ended_at is None else attempt.ended_at + rules.RECORDS_COME
        return None if comes is None or comes > self.clock.now() else comes

    def act(self, name: str, operation: Callable[[], object]) -> Actor:
        """Add somebody who begins as soon as it is his turn."""
        actor = Actor(name, operation)
        self.actors.append(actor)
        self.tell(f"{name} begins")
        return actor

    @property
    def moving(self) -> list[Actor]:
        """Return who has not ended."""
        if any(actor.ended for actor in self.actors):
            self.actors = [actor for actor in self.actors if not actor.ended]
        return self.actors

    @property
    def at_work(self) -> int:
        """How many runs are active."""
        return sum(bool(run.task) for run in self.runs)

    def _start(self, process: Process) -> None:
        rules.start(self, process)
        self.tell(f"++ {process.key} starts")


_observed: dict[type, type] = {}


def observed(life: Any) -> Any:  # noqa: ANN401 - the code under test may be a copy
    """Return a unit's life that counts what comes of its operations."""
    if life not in _observed:
        _observed[life] = _observe(life)
    return _observed[life]


def _observe(life: Any) -> type:  # noqa: ANN401 - the same
    class ObservedLife(life):  # type: ignore[misc]  # the same
        def seen_by(self, world: World, caller: Caller) -> ObservedLife:
            self._world, self._caller = world, caller
            return self

        def claim(self, *, governed: bool = False) -> Any:  # noqa: ANN401 - the same
            self._caller.governed = governed
            claim = super().claim(governed=governed)
            _count_claim(self._world, claim.decision)
            return claim

        def submit(self, attempt: Attempt) -> Attempt:
            world, caller = self._world, self._caller
            caller.started = False
            try:
                submitted: Attempt = super().submit(attempt)
            except RefusedError as refusal:
                how = "no room" if isinstance(refusal, NoCapacityError) else "outdated"
                world.tally["submit: " + ("stop on record" if "a stop of" in str(refusal) else how)] += 1
                raise
            ended = submitted.state is AttemptState.ENDED
            how = ("late stop" if ended else "bound") if caller.started else ("dead already" if ended else "found")
            world.tally[f"submit: {how}"] += 1
            return submitted

        def _end_driver(self, deadline_seconds: float) -> DriverReport:
            return _judged_end(self._world, lambda: super(ObservedLife, self)._end_driver(deadline_seconds))

        def lift(self, by: str, why: str) -> str:
            return self._counted("resume", "lifted", lambda: super(ObservedLife, self).lift(by, why))

        def force(self, by: str, why: str) -> Attempt:
            return self._counted("force", "recorded", lambda: super(ObservedLife, self).force(by, why))

        def _counted(self, what: str, done: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - what it returns
            try:
                result = call()
            except RefusedError:
                self._world.tally[f"{what}: refused"] += 1
                raise
            self._world.tally[f"{what}: {done}"] += 1
            return result

    return ObservedLife


def _judged_end(world: World, end: Callable[[], DriverReport]) -> DriverReport:
    before = rules.unseen(world)
    try:
        report = end()
    except RefusedError:
        world.tally["stop: no trace"] += 1
        raise
    rules.said_to_stand_still(world, before, report)
    return report


def _count_claim(world: World, decision: Any) -> None:  # noqa: ANN401 - a decision of the code under test
    kind = type(decision).__name__
    world.tally[f"claim: {kind}"] += 1
    if kind == Refuse.__name__:
        for text, why in _REFUSALS.items():
            if text in decision.why:
                world.tally[f"refused: {why}"] += 1
    _count_held(world, kind)


def count_outlook(world: World, status: Any) -> None:  # noqa: ANN401 - a sighting of the code under test
    """Count what the governor says to a reconciler, which acts on it without another word."""
    if status.attempt is not None and status.attempt.state is AttemptState.ENDED and not status.alive:
        _count_held(world, type(status.outlook(world.clock.now())).__name__)


def _count_held(world: World, kind: str) -> None:
    if kind in {Hold.__name__, Halt.__name__} and world.database.recorded:
        newest = world.database.recorded[-1]
        ended_as = recorded_class(newest.failure, newest.exit_code)
        if ended_as in (HELD if kind == Hold.__name__ else HALTING):  # it may have been replaced meanwhile
            world.tally[f"{kind.lower()}: {ended_as}"] += 1
