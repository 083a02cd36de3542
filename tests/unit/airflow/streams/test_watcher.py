"""One watcher for all watches of a process. No test sleeps: the watcher polls without pause and the clock is a twin."""

from __future__ import annotations

import gc
from dataclasses import replace

from sluice.airflow.streams.watcher import YOUNG, Hint, Watcher
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.pacing import PollRate
from tests.twins.clock import ManualClock
from tests.unit.airflow.streams.watching import (
    EAGER,
    ScriptedObserver,
    all_rounds_are_over,
    cancel,
    dead,
    rounds,
    start,
    until,
)


async def test_a_proven_death_wakes_the_watch_of_that_unit_and_no_other() -> None:
    observer = ScriptedObserver()
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    flights, weather = start(watcher, "flights"), start(watcher, "weather")
    await until(lambda: len(observer.observations) > 3)
    assert not flights.done()

    observer.statuses["flights"] = dead("flights")

    assert await flights is Hint.CHANGED
    assert not weather.done()
    await cancel(weather)


async def test_what_cannot_be_observed_wakes_nobody_and_does_not_disturb_others() -> None:
    observer = ScriptedObserver(unreachable={"flights"}, statuses={"weather": dead("weather")})
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    flights, trains = start(watcher, "flights"), start(watcher, "trains")

    assert await start(watcher, "weather") is Hint.CHANGED
    await until(lambda: observer.observations.count("flights") > 5 and observer.recorded.count("trains") > 1)
    assert not flights.done()
    assert "flights" not in observer.recorded

    observer.unreachable.clear()
    observer.statuses["flights"] = dead("flights")
    assert await flights is Hint.CHANGED
    await cancel(trains)


async def test_a_cluster_that_does_not_answer_delays_no_news_of_a_death() -> None:
    observer = ScriptedObserver(silent={"flights"}, statuses={"flights": dead("flights")})
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())

    assert await start(watcher, "flights") is Hint.CHANGED
    assert observer.recorded == []
    observer.answer.set()


async def test_verdicts_that_cannot_be_given_disturb_no_observation_and_are_given_later() -> None:
    observer = ScriptedObserver(broken_verdicts={"flights"})
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    flights, weather = start(watcher, "flights"), start(watcher, "weather")
    await until(lambda: len(observer.observations) > 3)
    assert observer.recorded == []

    observer.broken_verdicts.clear()
    await until(lambda: "weather" in observer.recorded)
    observer.statuses["flights"] = dead("flights")

    assert await flights is Hint.CHANGED
    await cancel(weather)


async def test_a_silent_control_database_wakes_nobody_and_is_asked_again() -> None:
    observer = ScriptedObserver(statuses={"flights": dead("flights")}, database_down=True)
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    flights = start(watcher, "flights")
    await until(lambda: len(observer.observations) > 3)
    assert not flights.done()

    observer.database_down = False
    assert await flights is Hint.CHANGED


async def test_a_death_is_told_as_soon_as_it_is_settled_and_not_a_round_later() -> None:
    clock, observer = ManualClock(), ScriptedObserver()
    ended = dead("flights")
    assert ended.attempt is not None
    just_now = replace(ended.attempt, ended_at=clock.now(), failure=FailureClass.STOPPED)
    observer.statuses["flights"] = replace(ended, attempt=just_now)
    hourly = PollRate(3600.0, share=1.0, most=3600.0)
    watcher = Watcher(observer, observations=hourly, verdicts=EAGER, settling=EAGER, clock=clock)
    flights = start(watcher, "flights")
    await until(lambda: len(observer.observations) > 3)
    assert not flights.done(), "a restart may be under way"

    clock.sleep(60)
    assert await flights is Hint.CHANGED


async def test_garbage_is_collected_seldom_while_somebody_watches_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    assert 0 < before[0] < YOUNG, "nothing would be seen of it"

    observer = ScriptedObserver()
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    flights = start(watcher, "flights")
    await until(lambda: len(observer.observations) > 0)
    assert gc.get_threshold() == (YOUNG, *before[1:])

    await cancel(flights)
    await until(all_rounds_are_over)
    assert gc.get_threshold() == before


async def test_watchers_that_overlap_leave_the_collector_as_it_was() -> None:
    before = gc.get_threshold()

    elder, younger = ScriptedObserver(), ScriptedObserver()
    flights = start(Watcher(elder, observations=EAGER, verdicts=EAGER, clock=ManualClock()), "flights")
    await until(lambda: len(elder.observations) > 0)
    weather = start(Watcher(younger, observations=EAGER, verdicts=EAGER, clock=ManualClock()), "weather")
    await until(lambda: len(younger.observations) > 0)
    both = rounds()

    await cancel(flights)
    await until(lambda: rounds() < both)
    assert gc.get_threshold() == (YOUNG, *before[1:]), "the younger one still watches"

    await cancel(weather)
    await until(all_rounds_are_over)
    assert gc.get_threshold() == before


async def test_the_watcher_ends_with_its_last_watch_and_begins_again_with_the_next() -> None:
    observer = ScriptedObserver()
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    await cancel(start(watcher, "flights"))
    await until(all_rounds_are_over)
    count = len(observer.observations)

    observer.statuses["flights"] = dead("flights")

    assert await start(watcher, "flights") is Hint.CHANGED
    assert len(observer.observations) == count + 1


async def test_a_loop_has_one_watcher() -> None:
    def make() -> Watcher:
        return Watcher(ScriptedObserver())

    assert Watcher.of_running_loop(make) is Watcher.of_running_loop(make)
