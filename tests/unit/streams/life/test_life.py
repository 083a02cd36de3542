from __future__ import annotations

import pytest

from sluice.errors import NotConfiguredError, RefusedError, UnreachableError
from sluice.streams.life.attempts import AttemptState, Desired
from sluice.streams.life.claim import Adopt, Refuse, Resume, Wait
from sluice.streams.life.launcher import DriverState, Job
from sluice.streams.life.life import UnitLife
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import job, latest, life_of, unconfigured, wish
from tests.twins.registry import InMemoryRegistry


def test_a_start_submits_generation_one_under_its_key_with_its_job(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    claim = life.start("ada", "demo")
    assert claim.attempt == latest(registry)
    assert (latest(registry).generation, latest(registry).state) == (1, AttemptState.BOUND)
    assert launcher.jobs == {"local.flights.g1": Job(("driver", "--generation", "1"))}
    assert (wish(registry).state, wish(registry).by, wish(registry).why) == (Desired.RUNNING, "ada", "demo")


def test_a_start_says_why_it_starts_and_not_how(life: UnitLife, launcher: DictionaryLauncher) -> None:
    assert life.start("ada", "demo").why == "it has never run"
    launcher.die("local.flights.g1", -9)
    assert life.start("ada", "again").why == "generation 1 was killed by signal 9"
    assert life.start("ada", "again").why.startswith("generation 2 lives")


def test_a_second_start_adopts_the_driver(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    claim = life.start("bob", "again")
    assert isinstance(claim.decision, Adopt)
    assert launcher.started == ["local.flights.g1"]
    assert len(registry.attempts("flights")) == 1


def test_a_claim_without_a_wish_starts_nothing(life: UnitLife, launcher: DictionaryLauncher) -> None:
    claim = life.claim()
    assert isinstance(claim.decision, Refuse)
    assert claim.attempt is None
    assert launcher.started == []


def test_a_claim_reserves_a_key_and_leaves_the_submit_to_the_caller(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    claim = life.claim()
    assert isinstance(claim.decision, Resume)
    assert claim.attempt == latest(registry)
    assert latest(registry).state is AttemptState.INTENT
    assert launcher.started == []


def test_a_dead_driver_is_put_on_record_and_followed_by_the_next_generation(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.die("local.flights.g1", -9)
    life.start("ada", "again")
    second, first = registry.attempts("flights")
    assert (first.state, first.exit_code, first.reason) == (AttemptState.ENDED, -9, "was killed by signal 9")
    assert (second.generation, second.state) == (2, AttemptState.BOUND)
    assert launcher.alive == ["local.flights.g2"]


def test_nothing_starts_while_the_launcher_cannot_check(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.reachable = False
    claim = life.claim()
    assert isinstance(claim.decision, Wait)
    assert life.observe().notes == ("the launcher does not answer.",)
    assert len(registry.attempts("flights")) == 1


def test_a_submit_that_could_not_reach_the_launcher_is_repeated_under_the_same_key(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    attempt = life.claim().attempt
    assert attempt is not None
    launcher.reachable = False
    with pytest.raises(UnreachableError):
        life.submit(attempt)
    launcher.reachable = True
    assert life.submit(attempt).state is AttemptState.BOUND
    assert launcher.started == ["local.flights.g1"]


def test_submitting_a_key_that_is_dead_already_records_the_end(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    attempt = life.claim().attempt
    assert attempt is not None
    launcher.submit(attempt.key, job(attempt))
    launcher.die(attempt.key, 1)
    assert life.submit(attempt).exit_code == 1
    assert latest(registry).state is AttemptState.ENDED


def test_an_attempt_of_an_older_generation_is_not_submitted(life: UnitLife, launcher: DictionaryLauncher) -> None:
    old = life.start("ada", "demo").attempt
    assert old is not None
    life.restart("ada", "upgrade", 60)
    launcher.forget(old.key)
    with pytest.raises(RefusedError, match="newest generation of flights is 2"):
        life.submit(old)
    assert launcher.alive == ["local.flights.g2"]


def test_a_stop_is_recorded_with_its_reason_and_ends_the_driver(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    report = life.stop("bob", "maintenance", 60)
    assert (report.state, report.exit_code) == (DriverState.ENDED, 0)
    assert (latest(registry).state, latest(registry).reason) == (AttemptState.ENDED, "stopped as requested")
    assert (wish(registry).state, wish(registry).by, wish(registry).why) == (Desired.STOPPED, "bob", "maintenance")
    assert launcher.alive == []


def test_a_stopped_unit_is_not_claimed(life: UnitLife, registry: InMemoryRegistry) -> None:
    life.start("ada", "demo")
    life.stop("bob", "maintenance", 60)
    claim = life.claim()
    assert isinstance(claim.decision, Refuse)
    assert "bob" in claim.why
    assert len(registry.attempts("flights")) == 1


def test_stopping_what_never_ran_records_the_wish(life: UnitLife, registry: InMemoryRegistry) -> None:
    assert life.stop("bob", "not today", 60).state is DriverState.ABSENT
    assert wish(registry).state is Desired.STOPPED


@pytest.mark.parametrize("request_of", ["stop", "restart"])
def test_what_was_started_and_cannot_be_found_is_never_said_to_stand_still(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry, request_of: str
) -> None:
    life.start("ada", "demo")
    launcher.forget("local.flights.g1")

    with pytest.raises(RefusedError, match=r"It is not known whether flights is stopped.*streams force flights"):
        getattr(life, request_of)("bob", "maintenance", 60)

    assert wish(registry).why == "maintenance"
    assert latest(registry).state is AttemptState.BOUND

    life.force("bob", "the machine is gone")
    assert life.stop("bob", "maintenance", 60).state is DriverState.ABSENT


def test_a_stop_that_cannot_check_is_on_record_and_records_no_death(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.reachable = False
    with pytest.raises(UnreachableError):
        life.stop("bob", "maintenance", 60)
    assert wish(registry).state is Desired.STOPPED
    assert latest(registry).state is AttemptState.BOUND


def test_a_reserved_key_survives_a_stop_and_is_used_by_the_next_start(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    attempt = life.claim().attempt
    assert attempt is not None
    life.stop("bob", "wait", 60)
    with pytest.raises(RefusedError, match="a stop of flights is on record"):
        life.submit(attempt)
    life.start("ada", "now")
    assert launcher.started == ["local.flights.g1"]


def test_a_stop_that_was_recorded_while_the_driver_was_submitted_ends_it(
    registry: InMemoryRegistry, clock: ManualClock
) -> None:
    class StopArrivesDuringSubmit(DictionaryLauncher):
        def submit(self, key: str, job: Job) -> object:  # type: ignore[override]  # the report, unchanged
            registry.set_desired_state("flights", Desired.STOPPED, by="bob", why="changed my mind")
            return super().submit(key, job)

    launcher = StopArrivesDuringSubmit(clock)
    life_of(registry, launcher).start("ada", "demo")
    assert launcher.started == ["local.flights.g1"]
    assert launcher.alive == []
    assert latest(registry).state is AttemptState.ENDED


def test_a_restart_stops_gracefully_and_starts_the_next_generation(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    claim = life.restart("ada", "upgrade", 60)
    assert claim.attempt is not None
    assert claim.attempt.generation == 2
    assert registry.attempts("flights")[1].exit_code == 0
    assert launcher.alive == ["local.flights.g2"]
    assert wish(registry).state is Desired.RUNNING


def test_a_lost_control_database_walks_to_the_driver_that_lives(
    life: UnitLife, launcher: DictionaryLauncher, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    life.restart("ada", "one", 60)
    life.restart("ada", "two", 60)
    empty = InMemoryRegistry(clock)
    claim = life_of(empty, launcher).start("ada", "rebuilt")
    assert isinstance(claim.decision, Adopt)
    assert latest(empty).generation == 3
    assert launcher.alive == ["local.flights.g3"]


def test_a_lost_state_folder_needs_a_persons_word(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.forget("local.flights.g1")
    with pytest.raises(RefusedError, match="sluice streams force"):
        life.start("ada", "again")
    ended = life.force("ada", "the machine was replaced")
    assert ended.reason == "declared dead by ada: the machine was replaced"
    life.start("ada", "again")
    assert launcher.alive == ["local.flights.g2"]
    assert len(registry.attempts("flights")) == 2


def test_a_driver_that_is_seen_alive_cannot_be_forced(life: UnitLife) -> None:
    life.start("ada", "demo")
    with pytest.raises(RefusedError, match="lives"):
        life.force("ada", "I want it gone")


def test_a_reserved_key_cannot_be_forced(life: UnitLife, registry: InMemoryRegistry) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    life.claim()
    with pytest.raises(RefusedError, match="absent"):
        life.force("ada", "I want it gone")


def test_a_death_that_is_seen_is_put_on_record(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.die("local.flights.g1", None)
    status = life.record_end()
    assert status.attempt == latest(registry)
    assert latest(registry).state is AttemptState.ENDED
    assert latest(registry).reason.startswith("left no exit record")


def test_a_stop_ends_the_driver_that_a_lost_control_database_has_forgotten(
    life: UnitLife, launcher: DictionaryLauncher, clock: ManualClock
) -> None:
    life.start("ada", "demo")
    life.restart("ada", "one", 60)
    empty = InMemoryRegistry(clock)
    assert life_of(empty, launcher).stop("bob", "upgrade", 60).dead
    assert launcher.alive == []
    assert [attempt.state for attempt in empty.attempts("flights")] == [AttemptState.ENDED] * 2


def test_a_stop_of_what_nobody_remembers_is_unknown_while_the_launcher_is_silent(
    life: UnitLife, launcher: DictionaryLauncher
) -> None:
    launcher.reachable = False
    with pytest.raises(UnreachableError):
        life.stop("bob", "upgrade", 60)


def test_finishing_a_stop_records_no_wish_and_is_refused_once_somebody_asked_for_a_start(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    asked = registry.set_desired_state("flights", Desired.STOPPED, by="bob", why="upgrade")
    assert life.finish_stop(60).dead
    assert wish(registry) == asked
    life.start("ada", "back again")
    with pytest.raises(RefusedError, match="no stop is on record any more"):
        life.finish_stop(60)
    assert launcher.alive == ["local.flights.g2"]


def test_what_was_confirmed_is_not_submitted_again_where_its_state_folder_was_lost(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    seen_alive = life.claim().attempt
    assert seen_alive is not None
    launcher.forget(seen_alive.key)
    with pytest.raises(RefusedError, match="lost its trace"):
        life.submit(seen_alive)
    assert launcher.alive == []
    life.force("ada", "the machine was replaced")
    assert life.submit(seen_alive) == latest(registry)
    assert launcher.alive == []


def test_a_driver_whose_submitter_died_is_bound_by_whoever_sees_it(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    attempt = life.claim().attempt
    assert attempt is not None
    launcher.submit(attempt.key, job(attempt))
    assert life.record_end().attempt == latest(registry)
    assert latest(registry).state is AttemptState.BOUND


def test_a_start_for_which_a_variable_is_not_set_records_no_wish(
    launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    lacking = life_of(registry, launcher, unconfigured)
    with pytest.raises(NotConfiguredError, match="SLUICE_CONNECTION_SERVING"):
        lacking.start("ada", "demo")
    assert registry.desired("flights") is None
    assert launcher.started == []


def test_a_restart_that_could_not_start_the_next_driver_leaves_the_one_that_lives(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    lacking = life_of(registry, launcher, unconfigured)
    with pytest.raises(NotConfiguredError):
        lacking.restart("bob", "new code", 60)
    assert launcher.alive == ["local.flights.g1"]
    assert wish(registry).by == "ada"


def test_a_driver_that_lives_is_adopted_by_somebody_who_has_not_its_variables(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    claim = life_of(registry, launcher, unconfigured).start("bob", "again")
    assert isinstance(claim.decision, Adopt)
    assert launcher.started == ["local.flights.g1"]


def test_a_resume_for_which_a_variable_is_not_set_lifts_nothing(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    life.start("ada", "demo")
    launcher.die("local.flights.g1", 11)
    with pytest.raises(NotConfiguredError):
        life_of(registry, launcher, unconfigured).resume("bob", "it is set now")
    assert wish(registry).by == "ada"


def test_a_stop_needs_no_variable(life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry) -> None:
    life.start("ada", "demo")
    life_of(registry, launcher, unconfigured).stop("bob", "enough", 60)
    assert launcher.alive == []
