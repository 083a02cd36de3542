"""What a run of a stream's DAG asks for, carried out against twins."""

from __future__ import annotations

import pytest

from sluice.airflow.streams.stream_request import NO_REASON, Claimed, UnitCommand, UnitRequest, claim, submit
from sluice.errors import NotConfiguredError, RefusedError, SpecError, UnreachableError
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.attempts import Desired
from tests.twins.lives import unconfigured
from tests.twins.project import InMemoryProject

FAULTS = ("include/pipelines/departures.yaml:4: surce: unknown key.",)


class World(InMemoryProject):
    """A project in which one unit is asked for things."""

    def ask(self, asked: UnitCommand, faults: tuple[str, ...] = (), why: str = "launch") -> Claimed:
        request = UnitRequest("flights", asked, "ada (Airflow run r1)", why, faults=faults)
        return claim(request, self.streams.life("flights"), self.control)

    def run(self, asked: UnitCommand, faults: tuple[str, ...] = ()) -> int | None:
        """Claim and submit, as a run of the DAG does."""
        generation = self.ask(asked, faults).generation
        return None if generation is None else submit("flights", generation, self.streams.life("flights")).generation


@pytest.fixture
def world() -> World:
    return World()


def test_a_start_records_who_asked_and_why_and_starts_a_driver(world: World) -> None:
    assert world.run(UnitCommand.START) == 1

    desired = world.control.desired("flights")
    assert desired is not None
    assert (desired.state, desired.by, desired.why) == (Desired.RUNNING, "ada (Airflow run r1)", "launch")
    assert world.drivers.alive == ["local.flights.g1"]


def test_a_second_run_adopts_the_live_driver_and_its_generation(world: World) -> None:
    world.run(UnitCommand.START)

    assert world.run(UnitCommand.START) == 1
    assert world.drivers.started == ["local.flights.g1"]


def test_a_stop_ends_the_driver_and_leaves_nothing_to_watch(world: World) -> None:
    world.run(UnitCommand.START)

    stopped = world.ask(UnitCommand.STOP)

    assert stopped.generation is None
    assert stopped.why == "stopped, as ada (Airflow run r1) requested"
    assert world.drivers.alive == []


def test_a_stop_of_what_never_ran_says_so(world: World) -> None:
    assert "nothing to stop" in world.ask(UnitCommand.STOP).why


def test_a_restart_gives_the_next_generation(world: World) -> None:
    world.run(UnitCommand.START)

    assert world.run(UnitCommand.RESTART) == 2
    assert world.drivers.alive == ["local.flights.g2"]


def test_follow_never_revokes_a_stop(world: World) -> None:
    world.run(UnitCommand.START)
    world.run(UnitCommand.STOP)

    assert world.run(UnitCommand.FOLLOW) is None
    desired = world.control.desired("flights")
    assert desired is not None
    assert desired.state is Desired.STOPPED


def test_follow_starts_what_died(world: World) -> None:
    world.run(UnitCommand.START)
    world.drivers.die("local.flights.g1", -9)

    assert world.run(UnitCommand.FOLLOW) == 2


def test_follow_finishes_a_stop_that_nobody_finished(world: World) -> None:
    world.run(UnitCommand.START)
    world.control.set_desired_state("flights", Desired.STOPPED, by="ada", why="upgrade")

    assert world.run(UnitCommand.FOLLOW) is None
    assert world.drivers.alive == []


def test_follow_that_finishes_a_stop_records_no_wish_that_could_revoke_a_start(world: World) -> None:
    world.run(UnitCommand.START)
    asked = world.control.set_desired_state("flights", Desired.STOPPED, by="ada", why="upgrade")
    world.clock.sleep(60)

    world.ask(UnitCommand.FOLLOW)

    assert world.control.desired("flights") == asked


def test_follow_of_what_nobody_asked_for_does_nothing(world: World) -> None:
    assert world.run(UnitCommand.FOLLOW) is None
    assert world.drivers.started == []


@pytest.mark.parametrize("asked", [UnitCommand.START, UnitCommand.RESTART])
def test_a_broken_unit_starts_nothing_and_records_no_wish(world: World, asked: UnitCommand) -> None:
    with pytest.raises(SpecError, match=r"departures\.yaml:4: surce"):
        world.ask(asked, FAULTS)

    assert world.control.desired("flights") is None


def test_follow_starts_nothing_of_a_broken_unit(world: World) -> None:
    world.run(UnitCommand.START)
    world.drivers.die("local.flights.g1", -9)

    with pytest.raises(SpecError):
        world.ask(UnitCommand.FOLLOW, FAULTS)

    assert world.drivers.alive == []


def test_a_broken_unit_is_not_stopped_by_a_restart_that_could_not_start_it_again(world: World) -> None:
    world.run(UnitCommand.START)

    with pytest.raises(SpecError):
        world.ask(UnitCommand.RESTART, FAULTS)

    assert world.drivers.alive == ["local.flights.g1"]


@pytest.mark.parametrize("asked", [UnitCommand.START, UnitCommand.FOLLOW])
def test_the_live_driver_of_a_broken_unit_is_adopted(world: World, asked: UnitCommand) -> None:
    world.run(UnitCommand.START)

    assert world.run(asked, FAULTS) == 1


def test_a_broken_unit_can_be_stopped(world: World) -> None:
    world.run(UnitCommand.START)
    world.run(UnitCommand.STOP, FAULTS)

    assert world.drivers.alive == []


def test_a_start_that_cannot_see_whether_a_driver_lives_starts_nothing_and_is_retried(world: World) -> None:
    world.run(UnitCommand.START)
    world.drivers.reachable = False

    with pytest.raises(UnreachableError, match="Unknown is not dead"):
        world.ask(UnitCommand.START)

    assert world.drivers.started == ["local.flights.g1"]


def test_a_stop_between_claim_and_submit_wins(world: World) -> None:
    generation = world.ask(UnitCommand.START).generation
    assert generation is not None
    world.ask(UnitCommand.STOP)

    with pytest.raises(RefusedError):
        submit("flights", generation, world.streams.life("flights"))

    assert world.drivers.started == []


def test_a_claim_that_another_one_overtook_submits_nothing(world: World) -> None:
    world.run(UnitCommand.START)
    world.run(UnitCommand.RESTART)

    with pytest.raises(RefusedError, match="generation 1 was claimed and the newest is 2"):
        submit("flights", 1, world.streams.life("flights"))


def test_follow_waits_for_the_backoff(world: World) -> None:
    world.run(UnitCommand.START)
    world.clock.sleep(5)
    world.drivers.die("local.flights.g1", 1)

    held = world.ask(UnitCommand.FOLLOW)

    assert held.generation is None
    assert "the next starts at" in held.why
    world.clock.sleep(60)
    assert world.run(UnitCommand.FOLLOW) == 2


def test_follow_of_what_is_halted_fails_with_the_reason_and_the_command(world: World) -> None:
    world.run(UnitCommand.START)
    world.clock.sleep(5)
    world.drivers.die("local.flights.g1", 12)

    with pytest.raises(RefusedError, match=r"flights is HALTED: generation 1 failed.*sluice streams resume"):
        world.ask(UnitCommand.FOLLOW)

    assert world.drivers.alive == []


def test_resume_starts_what_is_halted_and_says_what_it_overrides(world: World) -> None:
    world.run(UnitCommand.START)
    world.clock.sleep(5)
    world.drivers.die("local.flights.g1", 12)
    world.clock.sleep(5)

    claimed = world.ask(UnitCommand.RESUME)

    assert claimed.generation == 2
    assert "this overrides: generation 1 failed" in claimed.why


def test_resume_of_what_runs_is_refused(world: World) -> None:
    world.run(UnitCommand.START)

    with pytest.raises(RefusedError, match="not HALTED"):
        world.ask(UnitCommand.RESUME)


def test_a_broken_unit_is_not_resumed(world: World) -> None:
    with pytest.raises(SpecError):
        world.ask(UnitCommand.RESUME, FAULTS)


def test_force_puts_a_death_on_record_and_the_next_follow_starts(world: World) -> None:
    world.run(UnitCommand.START)
    world.drivers.forget("local.flights.g1")

    forced = world.ask(UnitCommand.FORCE)

    assert forced.generation is None
    assert "declared dead by ada (Airflow run r1): launch" in forced.why
    assert world.run(UnitCommand.FOLLOW) == 2


def test_force_of_a_driver_that_lives_is_refused(world: World) -> None:
    world.run(UnitCommand.START)

    with pytest.raises(RefusedError, match="lives"):
        world.ask(UnitCommand.FORCE)

    assert world.drivers.alive == ["local.flights.g1"]


@pytest.mark.parametrize("why", ["", " ", NO_REASON])
def test_force_without_a_word_of_how_it_is_known_is_refused(world: World, why: str) -> None:
    world.run(UnitCommand.START)
    world.drivers.forget("local.flights.g1")

    with pytest.raises(RefusedError, match="how you know"):
        world.ask(UnitCommand.FORCE, why=why)

    assert not any(attempt.ended_at for attempt in world.control.attempts("flights"))


def test_a_run_that_finds_no_room_waits_says_so_and_fails_nobody(world: World) -> None:
    world.drivers.lacking = "free: 0, used by sluice-local-weather (2)"
    for asked in (UnitCommand.START, UnitCommand.FOLLOW):
        claimed = world.ask(asked)
        assert claimed == Claimed(None, f"the cluster has no capacity for it: {world.drivers.lacking}")

    world.drivers.lacking = ""
    assert world.run(UnitCommand.FOLLOW) == 1


class Unconfigured(World):
    """A worker of Airflow's without a variable that the unit's specs name."""

    def refuse(self, unit: str) -> None:
        unconfigured(unit)


@pytest.mark.parametrize("asked", [UnitCommand.START, UnitCommand.RESTART])
def test_a_person_is_told_of_a_variable_that_is_not_set_before_anything_is_changed(asked: UnitCommand) -> None:
    world = Unconfigured()
    with pytest.raises(NotConfiguredError, match="SLUICE_CONNECTION_SERVING"):
        world.ask(asked)
    assert world.control.desired("flights") is None
    assert world.drivers.started == []


def test_what_is_halted_for_a_variable_is_not_resumed_without_it(world: World) -> None:
    world.run(UnitCommand.START)
    world.clock.sleep(5)
    world.drivers.die("local.flights.g1", ExitCode.CONFIGURATION)
    lacking = Unconfigured()
    lacking.control, lacking.drivers, lacking.clock = world.control, world.drivers, world.clock
    with pytest.raises(NotConfiguredError):
        lacking.ask(UnitCommand.RESUME)
    world.clock.sleep(60)
    assert world.run(UnitCommand.RESUME) == 2


def test_the_reconciler_starts_a_driver_that_says_it_once_and_is_halted(world: World) -> None:
    world.run(UnitCommand.START)
    world.drivers.die("local.flights.g1", -9)
    lacking = Unconfigured()
    lacking.control, lacking.drivers, lacking.clock = world.control, world.drivers, world.clock
    assert lacking.run(UnitCommand.FOLLOW) == 2
    world.clock.sleep(5)
    world.drivers.die("local.flights.g2", ExitCode.CONFIGURATION)
    with pytest.raises(RefusedError, match="flights is HALTED: generation 2 could not run: a variable that its specs"):
        lacking.ask(UnitCommand.FOLLOW)
