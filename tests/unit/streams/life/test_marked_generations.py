"""Where the control database is lost, generations go on above those that the tables name."""

from __future__ import annotations

import pytest

from sluice.errors import UnreachableError
from sluice.streams.life.claim import Adopt
from sluice.streams.life.launcher import Job
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import latest, life_of
from tests.twins.registry import InMemoryRegistry


def test_where_record_and_launcher_are_lost_the_generation_after_the_marked_one_starts(clock: ManualClock) -> None:
    registry, launcher = InMemoryRegistry(clock), DictionaryLauncher(clock)
    life = life_of(registry, launcher, marked=lambda _: 57)
    life.start("ada", "a new machine")
    assert launcher.started == ["local.flights.g58"]
    assert latest(registry).generation == 58
    life.restart("ada", "upgrade", 60)
    assert launcher.alive == ["local.flights.g59"]


def test_a_driver_of_the_marked_generation_that_lives_is_adopted(clock: ManualClock) -> None:
    launcher = DictionaryLauncher(clock)
    launcher.submit("local.flights.g57", Job(("driver",)))
    launcher.submit("local.flights.g58", Job(("driver",)))
    launcher.die("local.flights.g57", -9)
    registry = InMemoryRegistry(clock)
    claim = life_of(registry, launcher, marked=lambda _: 57).start("ada", "the record was lost")
    assert isinstance(claim.decision, Adopt)
    assert [each.generation for each in registry.attempts("flights")] == [58, 57]
    assert launcher.alive == ["local.flights.g58"]


def test_while_the_launcher_is_silent_no_later_generation_is_taken(clock: ManualClock) -> None:
    registry, launcher = InMemoryRegistry(clock), DictionaryLauncher(clock)
    launcher.reachable = False
    with pytest.raises(UnreachableError):
        life_of(registry, launcher, marked=lambda _: 57).start("ada", "a new machine")
    assert registry.attempts("flights") == ()


def test_marks_are_not_asked_for_while_the_record_has_an_attempt(
    launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    asked: list[str] = []

    def marked(unit: str) -> int:
        asked.append(unit)
        return 0

    life = life_of(registry, launcher, marked=marked)
    life.start("ada", "demo")
    life.restart("ada", "upgrade", 60)
    assert asked == ["flights"]
    assert launcher.alive == ["local.flights.g2"]
