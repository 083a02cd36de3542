"""A unit's life where the governor has a say: backoff, HALTED, resume, and what a restored record forgot."""

from __future__ import annotations

import pytest

from sluice.errors import RefusedError
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.life.attempts import Attempt, Desired, DesiredState
from sluice.streams.life.claim import Adopt
from sluice.streams.life.governor import Halt, Hold
from sluice.streams.life.life import UnitLife
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import latest, life_of, wish
from tests.twins.registry import InMemoryRegistry


def kept_running(life: UnitLife) -> Attempt | None:
    """Do what the reconciler's run does."""
    life.record_end()
    claim = life.claim(governed=True)
    return None if claim.attempt is None else life.submit(claim.attempt)


def test_a_class_and_the_time_of_death_go_on_record(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    clock.sleep(5)
    died_at = clock.now()
    launcher.die("local.flights.g1", 15, Failure(FailureClass.CODE, "KeyError", "'x'", died_at, "departures"))
    clock.sleep(3600)
    life.record_end()
    assert (latest(registry).failure, latest(registry).ended_at) == (FailureClass.CODE, died_at)
    assert latest(registry).reason.endswith("(stream departures: KeyError: 'x')")


def test_nobody_elses_claim_starts_before_the_backoff_is_over_and_a_persons_does(
    life: UnitLife, launcher: DictionaryLauncher, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    clock.sleep(5)
    launcher.die("local.flights.g1", 1)
    held = life.claim(governed=True)
    assert isinstance(held.decision, Hold)
    assert held.attempt is None
    clock.sleep((held.decision.until - clock.now()).total_seconds())
    assert kept_running(life) is not None
    clock.sleep(5)
    launcher.die("local.flights.g2", 1)
    assert kept_running(life) is None
    life.start("ada", "I have seen it")
    assert launcher.alive == ["local.flights.g3"]


def test_what_is_halted_is_started_by_a_resume_that_says_what_it_overrides(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    clock.sleep(5)
    launcher.die("local.flights.g1", 11)
    clock.sleep(10**6)
    assert isinstance(life.claim(governed=True).decision, Halt)
    assert life.observe().halted(clock.now()).startswith("generation 1 failed")
    life.resume("ada", "the loss is accepted")
    assert launcher.alive == ["local.flights.g2"]
    assert wish(registry).why.startswith("the loss is accepted (overrides: generation 1 failed: records that")
    assert life.observe().halted(clock.now()) == ""


def test_a_resume_that_is_repeated_does_not_follow_what_fell_in_between(
    launcher: DictionaryLauncher, clock: ManualClock
) -> None:
    class FallsOnceMore(InMemoryRegistry):
        """The driver that the first resume started dies while the second one is between its check and its claim."""

        def __init__(self) -> None:
            super().__init__(clock)
            self.polls_until_death = -1

        def desired(self, unit: str) -> DesiredState | None:
            self.polls_until_death -= 1
            if self.polls_until_death == 0:
                launcher.die("local.flights.g2", 11)
            return super().desired(unit)

    record = FallsOnceMore()
    life = life_of(record, launcher)
    life.start("ada", "demo")
    clock.sleep(5)
    launcher.die("local.flights.g1", 11)
    clock.sleep(5)
    life.resume("ada", "repaired")
    clock.sleep(5)
    record.polls_until_death = 2
    with pytest.raises(RefusedError, match="was not started: generation 2 failed"):
        life.resume("ada", "repaired")
    assert launcher.alive == []


@pytest.mark.parametrize("exit_code", [None, 1])
def test_what_is_not_halted_is_not_resumed(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry, exit_code: int | None
) -> None:
    life.start("ada", "demo")
    before = wish(registry)
    if exit_code is not None:
        launcher.die("local.flights.g1", exit_code)
    with pytest.raises(RefusedError, match="flights is not HALTED"):
        life.resume("ada", "just in case")
    assert wish(registry) == before


def test_a_crash_between_resume_and_claim_is_made_good_by_the_reconciler(
    life: UnitLife, launcher: DictionaryLauncher, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    clock.sleep(5)
    launcher.die("local.flights.g1", 12)
    clock.sleep(5)
    life.lift("ada", "repaired")
    assert kept_running(life) is not None
    assert launcher.alive == ["local.flights.g2"]


def test_a_start_that_crashed_before_it_recorded_the_death_is_not_forgotten(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    clock.sleep(5)
    launcher.die("local.flights.g1", 12)
    clock.sleep(5)
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="repaired")
    clock.sleep(5)
    assert kept_running(life) is not None


def test_what_was_declared_dead_is_followed_at_once(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.forget("local.flights.g1")
    life.force("ada", "the machine was replaced")
    assert latest(registry).failure is FailureClass.FORCED
    assert kept_running(life) is not None


class TestARestoredRecord:
    """Yesterday's control database beside today's launcher: generation 1 of 3."""

    @pytest.fixture
    def restored(self, life: UnitLife, launcher: DictionaryLauncher, clock: ManualClock) -> InMemoryRegistry:
        """The record as it was before two more generations; the launcher still knows all three."""
        life.start("ada", "demo")
        clock.sleep(5)
        launcher.die("local.flights.g1", 12)
        life.start("ada", "repaired")
        clock.sleep(5)
        launcher.die("local.flights.g2", 12)
        life.start("ada", "repaired again")
        older = InMemoryRegistry(clock)
        older.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
        older.intend("flights", after_generation=0, key="local.flights.g1")
        older.bind("flights", 1)
        clock.sleep(5)
        return older

    def test_finds_the_driver_that_lives_although_what_it_forgot_would_be_halted(
        self, restored: InMemoryRegistry, launcher: DictionaryLauncher
    ) -> None:
        found = life_of(restored, launcher).record_end()
        assert found.alive
        assert found.attempt is not None
        assert found.attempt.generation == 3
        assert [attempt.failure for attempt in restored.attempts("flights")[1:]] == [FailureClass.CORRUPT] * 2

    def test_is_not_taken_for_a_reason_to_start_what_is_halted(
        self, restored: InMemoryRegistry, launcher: DictionaryLauncher, clock: ManualClock
    ) -> None:
        launcher.die("local.flights.g3", 11)
        clock.sleep(10**6)
        life = life_of(restored, launcher)
        assert kept_running(life) is None
        assert isinstance(life.claim(governed=True).decision, Halt)
        assert launcher.alive == []

    def test_is_caught_up_with_by_a_claim_too(self, restored: InMemoryRegistry, launcher: DictionaryLauncher) -> None:
        claim = life_of(restored, launcher).claim(governed=True)
        assert isinstance(claim.decision, Adopt)
        assert claim.attempt is not None
        assert claim.attempt.generation == 3
