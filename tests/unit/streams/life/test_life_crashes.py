"""Histories of a unit's life: two actors, every interleaving of their port calls, a crash before any of them.

An actor runs in a thread of its own that stands still before each call on a port until the history lets it go on, so a
history is a list of numbers, and Hypothesis shrinks it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Semaphore, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sluice.errors import RefusedError, UnreachableError
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.attempts import AttemptState, Desired
from sluice.streams.life.governor import JITTER, POLICIES
from sluice.streams.life.launcher import Job
from sluice.streams.life.life import UnitLife
from sluice.streams.life.reconcile import ActionKind, reconcile
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.registry import InMemoryRegistry

UNIT = "flights"
LONGEST_WAIT = max(policy.longest for policy in POLICIES.values()) * (1 + JITTER)


class CrashError(Exception):
    """The actor's process is gone."""


class World:
    """One launcher and one registry, and what must hold of them at every moment."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.registry = InMemoryRegistry(self.clock)
        self.launcher = DictionaryLauncher(self.clock)

    def life(self, through: Callable[[Any], Any] = lambda port: port) -> UnitLife:
        return UnitLife(
            through(self.registry),
            through(self.launcher),
            deployment="local",
            unit=UNIT,
            job=lambda attempt: Job(("driver", str(attempt.generation))),
            clock=self.clock,
        )

    def check(self) -> None:
        assert len(self.launcher.alive) <= 1, f"two drivers live: {self.launcher.alive}"
        generations = [attempt.generation for attempt in reversed(self.registry.attempts(UNIT))]
        assert generations == list(range(1, len(generations) + 1))
        for attempt in self.registry.attempts(UNIT):
            assert attempt.state is not AttemptState.ENDED or attempt.key not in self.launcher.alive

    def reconcile(self) -> ActionKind:
        life = self.life()
        action = reconcile(life.record_end(), watched=False, now=self.clock.now())
        if action.kind in (ActionKind.START, ActionKind.WATCH):  # a watch begins with a claim, too
            claim = life.claim(governed=True)
            if claim.attempt is not None:
                life.submit(claim.attempt)
        if action.kind is ActionKind.STOP:
            life.finish_stop(60)
        return action.kind


class Gate:
    """Stands before a port: every call waits for its turn, and one of them may be the actor's last moment."""

    def __init__(self, port: object, actor: Actor) -> None:
        self._port = port
        self._actor = actor

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._port, name)

        def call(*args: object, **options: object) -> object:
            self._actor.wait_for_turn()
            return method(*args, **options)

        return call


def resume(life: UnitLife) -> None:
    with suppress(RefusedError):  # most of the time there is nothing to resume
        life.resume("ada", "repaired")


OPERATIONS: dict[str, Callable[[UnitLife], object]] = {
    "start": lambda life: life.start("ada", "demo"),
    "stop": lambda life: life.stop("bob", "upgrade", 60),
    "restart": lambda life: life.restart("ada", "upgrade", 60),
    "record end": lambda life: life.record_end(),
    "resume": resume,
    "claim and submit": lambda life: (claim := life.claim(governed=True)).attempt and life.submit(claim.attempt),
}


class Actor:
    """Somebody who carries out one operation, one port call per turn."""

    def __init__(self, world: World, operation: str, crash_before: int | None) -> None:
        self._life = world.life(lambda port: Gate(port, self))
        self._operation = OPERATIONS[operation]
        self._crash_before = crash_before
        self._calls = 0
        self._turn, self._done = Semaphore(0), Semaphore(0)
        self.ended = False
        self._fault: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        self._done.acquire()

    def _run(self) -> None:
        try:
            self._operation(self._life)
        except (CrashError, RefusedError, UnreachableError):
            pass
        except BaseException as error:  # noqa: BLE001 - handed to the test's thread
            self._fault = error
        self.ended = True
        self._done.release()

    def wait_for_turn(self) -> None:
        self._done.release()
        self._turn.acquire()
        if self._calls == self._crash_before:
            raise CrashError
        self._calls += 1

    def go_on(self) -> None:
        """Let one port call happen."""
        if self.ended:
            return
        self._turn.release()
        assert self._done.acquire(timeout=10)
        if self._fault is not None:
            raise self._fault

    def finish(self) -> None:
        while not self.ended:
            self.go_on()


DEATHS = {"driver dies": -9, "driver fails for good": ExitCode.DATA_LOSS, "driver is lost": None}


def play(
    operations: Sequence[str], crashes: Sequence[int | None], history: Sequence[str], world: World | None = None
) -> World:
    """Play a history and return the world after it."""
    world = world or World()
    actors = [Actor(world, operation, crash) for operation, crash in zip(operations, crashes, strict=True)]
    for event in history:
        match event:
            case "driver dies" | "driver fails for good" | "driver is lost":
                for key in world.launcher.alive:
                    world.launcher.die(key, DEATHS[event])
            case "cannot check":
                world.launcher.reachable = False
            case "can check":
                world.launcher.reachable = True
            case number:
                actors[int(number)].go_on()
        world.clock.sleep(1)
        world.check()
    for actor in actors:
        actor.finish()
        world.check()
    world.launcher.reachable = True
    return world


def heal(world: World) -> None:
    """Run the reconciler until nothing changes, as its schedule would."""
    for _ in range(8):
        world.clock.sleep(LONGEST_WAIT.total_seconds())
        world.reconcile()
        world.check()


def assert_the_wish_came_true(world: World) -> None:
    desired, attempt = world.registry.desired(UNIT), world.registry.latest_attempt(UNIT)
    if attempt is not None and world.life().observe().halted(world.clock.now()):
        # What must not be repeated waits for a person, and nobody else has ended the wait.
        assert attempt.exit_code == ExitCode.DATA_LOSS
        assert desired is not None
        assert attempt.ended_at is not None
        assert desired.at <= attempt.ended_at
        assert world.launcher.alive == []
        OPERATIONS["resume"](world.life())
        heal(world)
        assert world.launcher.alive == [f"local.flights.g{attempt.generation + 1}"]
    elif desired is not None and desired.state is Desired.RUNNING:
        assert attempt is not None
        assert world.launcher.alive == [attempt.key]
        assert attempt.state is AttemptState.BOUND
    else:
        assert world.launcher.alive == []


events = st.sampled_from(
    [
        "0",
        "1",
        "0",
        "1",
        "0",
        "1",
        "driver dies",
        "driver is lost",
        "driver fails for good",
        "cannot check",
        "can check",
    ]
)
crashes = st.none() | st.integers(0, 14)
operations = st.sampled_from(sorted(OPERATIONS))
thorough = hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(st.tuples(operations, operations), st.tuples(crashes, crashes), st.lists(events, max_size=40), st.booleans())
@example(("start", "stop"), (None, 6), ["0", "1"] * 12, False)
@example(("restart", "start"), (5, None), ["0"] * 8 + ["1"] * 8, True)
@example(
    ("start", "start"),
    (None, None),
    ["0", "cannot check", *"000", "can check", *"1" * 12, *"0" * 12],
    True,
)
def test_no_history_has_two_drivers_and_every_history_heals(
    actors: tuple[str, str], crashing: tuple[int | None, int | None], history: list[str], ran_before: bool
) -> None:
    world = World()
    if ran_before:
        OPERATIONS["start"](world.life())
    play(actors, crashing, history, world)
    heal(world)
    assert_the_wish_came_true(world)


@thorough
@given(st.lists(st.sampled_from(["0", "1"]), max_size=30), st.tuples(crashes, crashes))
def test_two_starts_that_race_start_one_driver_of_one_generation(
    history: list[str], crashing: tuple[int | None, int | None]
) -> None:
    world = play(("start", "start"), crashing, history)
    OPERATIONS["start"](world.life())
    assert world.launcher.started == ["local.flights.g1"]
    assert [attempt.state for attempt in world.registry.attempts(UNIT)] == [AttemptState.BOUND]


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
@pytest.mark.parametrize("before", [None, "start", "halt"])
def test_an_operation_that_crashed_before_any_of_its_steps_may_be_repeated(operation: str, before: str | None) -> None:
    steps = 0
    while True:
        world = World()
        if before is not None:
            OPERATIONS["start"](world.life())
        if before == "halt":
            world.clock.sleep(1)
            world.launcher.die("local.flights.g1", ExitCode.DATA_LOSS)
            world.clock.sleep(1)
        actor = Actor(world, operation, crash_before=steps)
        actor.finish()
        world.check()
        if actor._calls < steps:
            break  # it needed fewer steps: there is no later crash
        OPERATIONS[operation](world.life())
        world.check()
        heal(world)
        assert_the_wish_came_true(world)
        steps += 1
    assert steps > 0
