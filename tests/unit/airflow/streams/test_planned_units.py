"""Units that do not run all the time: runs of a schedule, and drivers that wait for records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowSkipException, DagRunTriggerException

from sluice.airflow.streams.following import FollowOperator
from sluice.airflow.streams.stream_request import Claimed, UnitCommand, UnitRequest, claim, submit
from sluice.airflow.streams.stream_tasks import request_of
from sluice.airflow.streams.watcher import Hint, Watcher
from sluice.errors import SpecError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import AttemptState, Desired
from tests.twins.clock import ManualClock
from tests.twins.opened_project import opened_project
from tests.twins.project import InMemoryProject
from tests.unit.airflow.streams.watching import EAGER, ScriptedObserver, cancel, dead, start, until

HOURLY, IDLE = RunPlan("0 * * * *"), RunPlan(None, timedelta(minutes=30))
HOUR = 3600.0


@dataclass(frozen=True)
class PlannedCatalog(Catalog):
    """Specs of which only the plan counts."""

    plan: RunPlan = ALL_THE_TIME

    def run_plan(self, unit: str) -> RunPlan:
        return self.plan if unit == "flights" else ALL_THE_TIME


class World(InMemoryProject):
    """A project in which one unit has a plan."""

    def ask(self, asked: UnitCommand, *faults: str) -> Claimed:
        request = UnitRequest("flights", asked, "its schedule (Airflow run r1)", "due", faults=faults)
        return claim(request, self.streams.life("flights"), self.control)

    def go(self, asked: UnitCommand) -> int | None:
        """Claim and submit, as a run of the DAG does."""
        generation = self.ask(asked).generation
        return None if generation is None else submit("flights", generation, self.streams.life("flights")).generation

    def ends(self, code: ExitCode) -> None:
        """Let the newest driver end by itself."""
        self.drivers.die(self.drivers.alive[-1], int(code))
        self.streams.life("flights").record_end()

    def comes(self, generation: int, records: int) -> None:
        """Let a watcher see unread records."""
        verdict = Verdict(Health.STARTING, "Seen.", lag_records=records)
        self.records.snapshots().store([StreamSnapshot("flights", "departures", generation, self.clock.now(), verdict)])


def world_with(plan: RunPlan) -> World:
    return World(PlannedCatalog(plan=plan))


@pytest.fixture
def world() -> World:
    """A unit that is requested to run by its schedule, and has not run yet."""
    made = world_with(HOURLY)
    made.control.set_desired_state("flights", Desired.RUNNING, by="ada", why="launch")
    return made


def test_a_schedule_starts_nothing_that_nobody_has_requested(world: World) -> None:
    found = world_with(HOURLY).ask(UnitCommand.SCHEDULED)
    assert (found.generation, "`sluice streams start flights` requests it" in found.why) == (None, True)
    assert world.control.desired("flights") is not None


def test_each_time_that_is_due_starts_one_driver_and_none_in_between(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.clock.sleep(60)
    world.ends(ExitCode.COMPLETED)
    early = world.ask(UnitCommand.SCHEDULED)
    assert (early.generation, "scheduled, next at" in early.why) == (None, True)
    world.clock.sleep(HOUR)
    assert world.go(UnitCommand.SCHEDULED) == 2
    assert world.drivers.started == ["local.flights.g1", "local.flights.g2"]


def test_a_run_that_finds_a_driver_at_work_is_over_and_what_was_due_follows(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.clock.sleep(2 * HOUR)
    found = world.ask(UnitCommand.SCHEDULED)
    assert (found.generation, "still at work" in found.why) == (None, True)
    world.ends(ExitCode.COMPLETED)
    follow = FollowOperator(task_id="follow", unit="flights", clock=world.clock)
    with opened_project(world), pytest.raises(DagRunTriggerException) as asked:
        follow.execute({"ti": None})  # type: ignore[typeddict-item]  # nothing of it is read
    assert asked.value.dag_run_id == "follow__local.flights.g1"
    assert world.go(UnitCommand.FOLLOW) == 2


def test_nothing_follows_a_run_before_the_next_is_due(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.clock.sleep(60)
    world.ends(ExitCode.COMPLETED)
    follow = FollowOperator(task_id="follow", unit="flights", clock=world.clock)
    with opened_project(world), pytest.raises(AirflowSkipException, match="scheduled, next at"):
        follow.execute({"ti": None})  # type: ignore[typeddict-item]  # the same


def test_a_schedule_revokes_no_stop(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.ask(UnitCommand.STOP)
    world.clock.sleep(2 * HOUR)
    stopped = world.ask(UnitCommand.SCHEDULED)
    assert (stopped.generation, "requested its stop" in stopped.why) == (None, True)
    assert world.drivers.alive == []


def test_a_person_starts_a_driver_at_any_time(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.clock.sleep(60)
    world.ends(ExitCode.COMPLETED)
    world.clock.sleep(60)
    assert world.go(UnitCommand.START) == 2


def test_a_schedule_starts_nothing_that_is_halted_and_alerts_no_second_time(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.ends(ExitCode.DATA_LOSS)
    world.clock.sleep(2 * HOUR)
    held = world.ask(UnitCommand.SCHEDULED)
    assert (held.generation, "HALTED" in held.why) == (None, True)


def test_a_failed_run_is_tried_again_by_its_class_and_not_only_when_the_next_is_due(world: World) -> None:
    world.go(UnitCommand.SCHEDULED)
    world.ends(ExitCode.TRANSIENT)
    world.clock.sleep(30)
    assert world.go(UnitCommand.FOLLOW) == 2


def test_broken_specs_start_nothing(world: World) -> None:
    with pytest.raises(SpecError, match="no driver to adopt"):
        world.ask(UnitCommand.SCHEDULED, "surce: unknown key")


@pytest.mark.parametrize("kind", ["scheduled", "manual"])
def test_a_run_that_a_schedule_has_made_is_known_by_its_kind_and_no_form_counts(kind: str) -> None:
    made = SimpleNamespace(triggering_user_name="ada", run_id="r1", run_type=kind)
    request = request_of("flights", {"action": "restart", "reason": "why", "deadline_seconds": 60}, made, ())
    scheduled = request.asked is UnitCommand.SCHEDULED
    assert scheduled is (kind == "scheduled")
    assert request.by == ("its schedule (Airflow run r1)" if scheduled else "ada (Airflow run r1)")


def test_a_unit_that_is_idle_is_watched_and_started_by_what_a_watcher_sees() -> None:
    world = world_with(IDLE)
    world.go(UnitCommand.START)
    world.clock.sleep(60)
    world.comes(1, records=5)  # before its end: the driver has read them
    world.clock.sleep(60)
    world.ends(ExitCode.IDLE)
    world.clock.sleep(60)
    watched = world.ask(UnitCommand.FOLLOW)
    assert (watched.generation, "they are watched for" in watched.why) == (1, True)
    assert submit("flights", 1, world.streams.life("flights")).state is AttemptState.ENDED
    world.comes(1, records=0)
    assert world.ask(UnitCommand.FOLLOW).generation == 1
    world.comes(1, records=1)
    assert world.streams.lives().observe(["flights"]).by_unit["flights"].unread_since == world.clock.now()
    assert world.go(UnitCommand.FOLLOW) == 2
    assert world.drivers.started == ["local.flights.g1", "local.flights.g2"]


async def test_a_watch_waits_for_records_without_a_closer_look_and_is_woken_by_them() -> None:
    clock, observer = ManualClock(), ScriptedObserver()
    ended = dead("flights")
    assert ended.attempt is not None
    idle = replace(
        ended,
        plan=IDLE,
        attempt=replace(ended.attempt, ended_at=clock.now(), failure=FailureClass.IDLE, exit_code=24),
    )
    observer.statuses["flights"] = idle
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, settling=EAGER, clock=clock)
    flights = start(watcher, "flights")
    await until(lambda: len(observer.observations) > 3)
    assert not flights.done()
    assert len(observer.threads) == 1, "a second thread looked closer"
    observer.statuses["flights"] = replace(idle, unread_since=clock.now())
    assert await flights is Hint.CHANGED
    await cancel(flights)
