"""A cluster that has no room: nothing is submitted, no generation is lost, and everybody is told."""

from __future__ import annotations

import pytest

from sluice.errors import UnreachableError
from sluice.streams.failures.capacity import NoCapacity, NoCapacityError
from sluice.streams.health.observing import ObservationTarget, observe
from sluice.streams.life.attempts import AttemptState, Desired
from sluice.streams.life.launcher import Job
from sluice.streams.life.life import UnitLife
from sluice.streams.life.reconcile import ActionKind, reconcile
from sluice.streams.life.timeline import timeline
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import latest
from tests.twins.registry import InMemoryRegistry

WHY = "departures needs at least 1 core, the cluster offers 2 cores; free: 0, used by sluice-local-weather (2)"


@pytest.fixture
def crowded(life: UnitLife, launcher: DictionaryLauncher) -> UnitLife:
    launcher.lacking = WHY
    return life


def test_a_start_without_room_records_the_wish_reserves_the_key_and_says_why(
    crowded: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    claim = crowded.start("ada", "demo")
    assert (claim.decision, claim.attempt, claim.why) == (NoCapacity(WHY), None, WHY)
    assert (latest(registry).generation, latest(registry).state) == (1, AttemptState.INTENT)
    wish = registry.desired("flights")
    assert wish is not None
    assert wish.state is Desired.RUNNING
    assert launcher.started == []


def test_room_that_is_there_again_starts_the_reserved_generation(
    crowded: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry, clock: ManualClock
) -> None:
    crowded.start("ada", "demo")
    waiting = reconcile(crowded.observe(), watched=False, now=clock.now())
    assert (waiting.kind, waiting.why) == (ActionKind.NOTHING, WHY)
    launcher.lacking = ""
    assert reconcile(crowded.observe(), watched=False, now=clock.now()).kind is ActionKind.START
    claim = crowded.claim(governed=True)
    assert claim.attempt is not None
    crowded.submit(claim.attempt)
    assert launcher.alive == ["local.flights.g1"]
    assert [attempt.generation for attempt in registry.attempts("flights")] == [1]


def test_waiting_for_room_costs_no_generation_however_often_it_is_tried(
    crowded: UnitLife, registry: InMemoryRegistry
) -> None:
    for _ in range(5):
        assert isinstance(crowded.claim().decision, NoCapacity) or crowded.start("ada", "demo")
    assert [attempt.generation for attempt in registry.attempts("flights")] == [1]


def test_room_that_is_lost_between_claim_and_submit_submits_nothing(
    life: UnitLife, launcher: DictionaryLauncher, registry: InMemoryRegistry
) -> None:
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="demo")
    claim = life.claim()
    assert claim.attempt is not None
    launcher.lacking = WHY
    with pytest.raises(NoCapacityError, match="free: 0"):
        life.submit(claim.attempt)
    assert latest(registry).state is AttemptState.INTENT
    assert launcher.started == []


def test_a_driver_that_lives_is_adopted_however_crowded_it_is(life: UnitLife, launcher: DictionaryLauncher) -> None:
    life.start("ada", "demo")
    launcher.lacking = WHY
    assert life.observe().shortage == ""
    assert life.start("ada", "again").attempt is not None
    assert launcher.started == ["local.flights.g1"]


def test_a_stop_is_obeyed_while_there_is_no_room(crowded: UnitLife, clock: ManualClock) -> None:
    crowded.start("ada", "demo")
    crowded.stop("ada", "enough", 1)
    assert crowded.observe().shortage == ""
    assert reconcile(crowded.observe(), watched=False, now=clock.now()).kind is ActionKind.NOTHING


def test_a_master_that_cannot_be_asked_is_waited_for_and_said_to_be_silent(
    registry: InMemoryRegistry, clock: ManualClock
) -> None:
    class Silent(DictionaryLauncher):
        def shortage(self, job: Job) -> str:
            assert job
            raise UnreachableError("the Spark master's page does not answer.")

    life = UnitLife(
        registry, Silent(clock), deployment="local", unit="flights", job=lambda _: Job(("driver",)), clock=clock
    )
    claim = life.start("ada", "demo")
    assert isinstance(claim.decision, NoCapacity)
    assert claim.why == "the free capacity is not known: the Spark master's page does not answer"


def test_the_timeline_and_the_evidence_say_what_is_waited_for(
    crowded: UnitLife, registry: InMemoryRegistry, launcher: DictionaryLauncher, clock: ManualClock
) -> None:
    crowded.start("ada", "demo")
    status = crowded.observe()
    told = timeline(status, registry.attempts("flights"), now=clock.now(), log=launcher.log)
    assert told.next == f"the reconciler submits it as soon as there is capacity: {WHY}"
    case = ObservationTarget("flights", status, {})
    assert observe([case], lambda: pytest.fail("no stream, no topic"), at=clock.now()) == {"flights": {}}
