"""The trigger in an event loop, on a project in memory, observed by the real observer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from threading import Barrier, Event, Thread
from typing import Any

from airflow.triggers.base import TriggerEvent

from sluice.airflow.streams.observer import ProjectObserver
from sluice.airflow.streams.trigger import StreamTrigger
from sluice.airflow.streams.watcher import Watcher
from sluice.project.reloading import CHECK_SECONDS
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.pacing import PollRate
from sluice.streams.life.attempts import Desired
from tests.twins.observations import observed, steadily
from tests.twins.project import InMemoryProject

DEADLINE_SECONDS = 120.0
EAGER = PollRate(0.0, share=1.0, most=0.0)


class JudgedProject(InMemoryProject):
    """Gives one verdict, and counts the rounds by it."""

    rounds = 0

    def observations(self, unit: str) -> dict[str, Observation]:
        self.rounds += 1
        return {f"raw_{unit}": observed(200, steadily(3))}


def started() -> JudgedProject:
    project = JudgedProject(load_catalog(settings().home / "include"))
    project.streams.life("flights").start("ada", "launch")
    return project


def install_watcher(project: JudgedProject) -> None:
    """Make the running loop's watcher observe `project`, without pause."""
    observer = ProjectObserver(lambda: project, project.clock)
    Watcher.of_running_loop(lambda: Watcher(observer, observations=EAGER, verdicts=EAGER, clock=project.clock))


def trigger(project: JudgedProject, limit: timedelta = timedelta(days=1)) -> StreamTrigger:
    path, arguments = StreamTrigger("flights", 1, (project.clock.now() + limit).isoformat()).serialize()
    assert path == f"{StreamTrigger.__module__}.{StreamTrigger.__qualname__}"
    return StreamTrigger(**arguments)


async def first_event(of: StreamTrigger) -> TriggerEvent:
    async for event in of.run():
        return event
    raise AssertionError("the trigger ended without an event")


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, DEADLINE_SECONDS))


async def rounds(project: JudgedProject, count: int) -> None:
    seen = project.rounds
    while project.rounds < seen + count:  # noqa: ASYNC110 - it observes a fake that knows no event
        await asyncio.sleep(0.001)  # the rounds work in threads: a loop that only spins would starve them


async def test_a_death_gives_one_event_that_names_what_it_is_about() -> None:
    project = started()
    install_watcher(project)
    event = asyncio.create_task(first_event(trigger(project)))
    await rounds(project, 3)
    assert not event.done()

    project.drivers.die("local.flights.g1", -9)  # the clock stands still: nothing is waited for

    payload = (await event).payload
    assert (payload["hint"], payload["unit"], payload["generation"]) == ("changed", "flights", 1)


async def test_a_death_that_a_restart_may_explain_is_told_once_nobody_follows_it_up() -> None:
    project = started()
    install_watcher(project)
    event = asyncio.create_task(first_event(trigger(project)))
    project.clock.sleep(60)
    project.control.set_desired_state("flights", Desired.RUNNING, by="ada", why="restart")
    project.drivers.die("local.flights.g1", -9)
    await rounds(project, 3)
    assert not event.done(), "it is settled first whether this is a restart"
    while not event.done():  # the observation that first sees the death may come later than these rounds
        project.clock.sleep(60)
        await asyncio.sleep(0.01)


async def test_nothing_is_said_while_the_launcher_is_silent() -> None:
    project = started()
    install_watcher(project)
    event = asyncio.create_task(first_event(trigger(project)))
    project.drivers.die("local.flights.g1", -9)
    project.drivers.reachable = False
    project.clock.sleep(3600)
    await rounds(project, 5)

    assert not event.done()
    event.cancel()


async def test_a_proven_death_and_the_verdicts_are_put_on_record() -> None:
    project = started()
    install_watcher(project)
    event = asyncio.create_task(first_event(trigger(project)))
    await rounds(project, 2)
    project.drivers.die("local.flights.g1", -9)
    await event

    attempt = project.control.latest_attempt("flights")
    assert attempt is not None
    assert attempt.exit_code == -9
    assert [(v.stream, v.generation, v.verdict.health) for v in project.control.verdicts("flights")] == [
        ("raw_flights", 1, Health.OK)
    ]


async def test_killing_the_trigger_stops_nothing() -> None:
    project = started()
    await trigger(project).on_kill()

    assert project.drivers.alive == ["local.flights.g1"]


def test_a_triggerer_that_pauses_and_restarts_stops_and_submits_nothing_and_the_next_one_goes_on() -> None:
    project = started()
    wish = project.control.desired("flights")

    async def first_triggerer() -> None:
        install_watcher(project)
        event = asyncio.create_task(first_event(trigger(project)))
        await rounds(project, 2)
        project.clock.sleep(60)
        await rounds(project, 2)
        assert not event.done()
        event.cancel()  # what Airflow does to a trigger when its triggerer ends
        await asyncio.gather(event, return_exceptions=True)

    async def next_triggerer() -> None:
        install_watcher(project)
        event = asyncio.create_task(first_event(trigger(project)))
        await rounds(project, 2)
        assert not event.done()
        project.drivers.die("local.flights.g1", -9)
        while not event.done():
            project.clock.sleep(60)
            await asyncio.sleep(0.01)
        assert event.result().payload["hint"] == "changed"

    run(first_triggerer())
    assert project.drivers.alive == ["local.flights.g1"]
    assert project.control.desired("flights") == wish
    run(next_triggerer())
    assert project.drivers.started == ["local.flights.g1"]


def test_two_triggerers_with_the_same_watch_say_the_same_and_record_one_end() -> None:
    project = started()
    payloads: list[dict[str, Any]] = []
    watching, dead = Barrier(3), Event()

    async def watch() -> None:
        install_watcher(project)
        event = asyncio.create_task(first_event(trigger(project)))
        await rounds(project, 2)
        await asyncio.to_thread(watching.wait, DEADLINE_SECONDS)
        await asyncio.to_thread(dead.wait, DEADLINE_SECONDS)
        payloads.append((await event).payload)

    triggerers = [Thread(target=run, args=(watch(),)) for _ in range(2)]
    for triggerer in triggerers:
        triggerer.start()
    watching.wait(DEADLINE_SECONDS)
    project.drivers.die("local.flights.g1", -9)
    project.streams.life("flights").record_end()
    dead.set()
    for triggerer in triggerers:
        triggerer.join(DEADLINE_SECONDS)

    assert len(payloads) == 2
    assert payloads[0] == payloads[1]
    assert [attempt.exit_code for attempt in project.control.attempts("flights")] == [-9]
    assert len(project.control.verdicts("flights")) == 1


async def test_a_unit_whose_spec_and_dag_are_gone_is_watched_to_its_end_and_can_be_stopped() -> None:
    project = JudgedProject()  # its catalog is empty
    project.streams.life("flights").start("ada", "launch")
    install_watcher(project)
    event = asyncio.create_task(first_event(trigger(project)))
    await asyncio.sleep(0.01)
    assert not event.done()
    assert project.streams.life("flights").stop("ada", "it is gone", 10).dead
    assert (await event).payload["hint"] == "changed"


def test_an_observer_opens_the_project_again_only_when_a_spec_has_changed() -> None:
    project = started()
    opened = []

    def open_project() -> JudgedProject:
        opened.append(project.clock.now())
        return project

    observer = ProjectObserver(open_project, project.clock)
    for _ in range(3):
        observer.observe(["flights"])
        project.clock.sleep(CHECK_SECONDS)

    assert len(opened) == 1
