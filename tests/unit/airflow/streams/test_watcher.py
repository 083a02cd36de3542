"""One watcher for all watches of a process. No test sleeps: the watcher polls without pause and the clock is a twin."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from sluice.airflow.streams.watcher import MAX_TOGETHER, YOUNG, Hint, Watch, Watcher, due, hints
from sluice.errors import UnreachableError
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.pacing import MAX_SECONDS, PollRate
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import START, ManualClock

TOMORROW = START + timedelta(days=1)
DEADLINE_SECONDS = 10.0
EAGER = PollRate(0.0, share=1.0, most=0.0)


def alive(unit: str) -> UnitStatus:
    key = f"local.{unit}.g1"
    return UnitStatus(
        unit,
        DesiredState(unit, Desired.RUNNING, "ada", "launch", START),
        Attempt(unit, 1, key, AttemptState.BOUND, START, bound_at=START),
        DriverReport(key, DriverState.RUNNING, pid=7),
    )


def dead(unit: str) -> UnitStatus:
    status = alive(unit)
    assert status.attempt is not None
    long_ago = START - timedelta(hours=1)
    ended = replace(status.attempt, state=AttemptState.ENDED, ended_at=long_ago, reason="was killed by signal 9")
    return replace(status, attempt=ended, report=None)


@dataclass
class ScriptedObserver:
    """Answers from a table. Knows how often, by how many threads, and how many at once it was asked."""

    statuses: dict[str, UnitStatus] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    broken_verdicts: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    observations: list[str] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    database_down: bool = False
    answer: threading.Event = field(default_factory=threading.Event)
    threads: set[int] = field(default_factory=set)

    def observe(self, units: Sequence[str]) -> dict[str, UnitStatus]:
        self.threads.add(threading.get_ident())
        self.observations += units
        self.parts.append(len(units))
        if self.database_down:
            raise UnreachableError("the control database does not answer.")
        return {unit: self.statuses.get(unit, alive(unit)) for unit in units if unit not in self.unreachable}

    def record_verdicts(self, seen: Mapping[str, UnitStatus]) -> None:
        if self.silent & set(seen):
            self.answer.wait(DEADLINE_SECONDS)
        if self.broken_verdicts & set(seen):
            raise UnreachableError("the control database does not answer.")
        self.recorded += seen


class BusyObserver(ScriptedObserver):
    """Its first look costs so much that the next would be in a minute."""

    def observe(self, units: Sequence[str]) -> dict[str, UnitStatus]:
        begun = time.thread_time()
        while not self.observations and time.thread_time() - begun < 0.06:
            pass
        return super().observe(units)


@dataclass(frozen=True)
class NotedRate(PollRate):
    """Notes how long rounds would be, and lets nobody wait for them."""

    periods: list[float] = field(default_factory=list)

    def period(self, cost: float) -> float:
        self.periods.append(super().period(cost))
        return 0.0


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_SECONDS))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - it looks at a fake that knows no event
        await asyncio.sleep(0)


def rounds() -> int:
    return sum(task.get_name().startswith("sluice") for task in asyncio.all_tasks())


def all_rounds_are_over() -> bool:
    return rounds() == 0


def start(watcher: Watcher, unit: str, until_: datetime = TOMORROW) -> asyncio.Task[Hint]:
    return asyncio.create_task(watcher.wait(Watch(unit, 1, until_)))


async def cancel(*tasks: asyncio.Task[Hint]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_proven_death_wakes_the_watch_of_that_unit_and_no_other() -> None:
    async def scenario() -> None:
        observer = ScriptedObserver()
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
        flights, weather = start(watcher, "flights"), start(watcher, "weather")
        await until(lambda: len(observer.observations) > 3)
        assert not flights.done()

        observer.statuses["flights"] = dead("flights")

        assert await flights is Hint.CHANGED
        assert not weather.done()
        await cancel(weather)

    run(scenario())


def test_what_cannot_be_looked_at_wakes_nobody_and_does_not_disturb_others() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_a_cluster_that_does_not_answer_delays_no_news_of_a_death() -> None:
    async def scenario() -> None:
        observer = ScriptedObserver(silent={"flights"}, statuses={"flights": dead("flights")})
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())

        assert await start(watcher, "flights") is Hint.CHANGED
        assert observer.recorded == []
        observer.answer.set()

    run(scenario())


def test_verdicts_that_cannot_be_given_disturb_no_look_and_are_given_later() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_a_silent_control_database_wakes_nobody_and_is_asked_again() -> None:
    async def scenario() -> None:
        observer = ScriptedObserver(statuses={"flights": dead("flights")}, database_down=True)
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
        flights = start(watcher, "flights")
        await until(lambda: len(observer.observations) > 3)
        assert not flights.done()

        observer.database_down = False
        assert await flights is Hint.CHANGED

    run(scenario())


def test_a_thousand_units_are_looked_at_in_parts_and_none_is_left_out() -> None:
    async def scenario() -> None:
        observer, units = ScriptedObserver(), [f"unit_{n:04}" for n in range(2 * MAX_TOGETHER + 1)]
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
        watches = [start(watcher, unit) for unit in units]
        await until(lambda: len(observer.parts) > 3 and set(observer.recorded) == set(units))

        round_of_looks = observer.observations[observer.observations.index(units[0]) :]
        assert round_of_looks[: len(units)] == units
        assert max(observer.parts) == MAX_TOGETHER
        await cancel(*watches)

    run(scenario())


def test_a_death_is_told_as_soon_as_it_is_settled_and_not_a_round_later() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_what_one_round_paid_for_makes_the_next_no_longer() -> None:
    async def scenario() -> None:
        observer, rate = BusyObserver(), NotedRate(0.0, share=1e-3)
        watcher = Watcher(observer, observations=rate, verdicts=EAGER, clock=ManualClock())
        flights = start(watcher, "flights")
        await until(lambda: len(rate.periods) > 3)
        await cancel(flights)

        assert rate.period(0.06) == 0.0
        assert rate.periods[-1] == MAX_SECONDS, "what the first round cost would do, if it counted"
        assert max(rate.periods[:4]) < MAX_SECONDS

    run(scenario())


def test_garbage_is_collected_seldom_while_somebody_watches_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    assert 0 < before[0] < YOUNG, "nothing would be seen of it"

    async def scenario() -> None:
        observer = ScriptedObserver()
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
        flights = start(watcher, "flights")
        await until(lambda: len(observer.observations) > 0)
        assert gc.get_threshold() == (YOUNG, *before[1:])

        await cancel(flights)
        await until(all_rounds_are_over)
        assert gc.get_threshold() == before

    run(scenario())


def test_watchers_that_overlap_leave_the_collector_as_it_was() -> None:
    before = gc.get_threshold()

    async def scenario() -> None:
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

    run(scenario())


def test_a_round_is_spread_over_its_period() -> None:
    """The second of two parts is asked about in the middle of a round, not right after the first."""

    async def scenario() -> None:
        observer, asked = ScriptedObserver(), []
        watcher = Watcher(observer, observations=PollRate(0.4, share=1.0), verdicts=EAGER, clock=ManualClock())
        watches = [start(watcher, f"unit_{n:04}") for n in range(2 * MAX_TOGETHER)]
        loop = asyncio.get_running_loop()
        for part in range(1, 11):
            await until(lambda part=part: len(observer.parts) >= part)  # type: ignore[misc]
            asked.append(loop.time())

        # On a busy machine one part may be asked about late, and its round is shorter then; not most of them.
        within_a_round = [second - first for first, second in zip(asked[::2], asked[1::2], strict=True)]
        assert median(within_a_round) > 0.15
        assert median(later - earlier for earlier, later in pairwise(asked)) < 2.5
        await cancel(*watches)

    run(scenario())


def test_a_look_that_comes_a_moment_early_is_judged_all_the_same() -> None:
    """Where looks and verdicts are equally rare, the next look would come too late: a minute after this one."""
    judged_at = {"early": 45.5, "on time": 45.0, "much too early": 70.0}
    assert due(["early", "never", "on time", "much too early"], judged_at, 100.0, 55.0) == ["early", "never", "on time"]


def test_no_more_are_judged_together_than_are_looked_at_together() -> None:
    assert len(due([f"unit_{n}" for n in range(2 * MAX_TOGETHER)], {}, 100.0, 55.0)) == MAX_TOGETHER


def test_looks_that_are_more_frequent_than_verdicts_are_not_all_judged() -> None:
    async def scenario() -> None:
        observer = ScriptedObserver()
        hourly = PollRate(3600.0, share=1.0, most=3600.0)
        watcher = Watcher(observer, observations=EAGER, verdicts=hourly, clock=ManualClock())
        flights, weather = start(watcher, "flights"), start(watcher, "weather")
        await until(lambda: len(observer.observations) > 20)
        await cancel(flights, weather)
        assert sorted(observer.recorded) == ["flights", "weather"]

    run(scenario())


def test_a_hundred_watches_cost_one_look_per_unit_and_round_in_one_thread() -> None:
    async def scenario() -> None:
        observer = ScriptedObserver()
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
        watches = [start(watcher, f"unit_{n % 10}") for n in range(100)]
        await until(lambda: len(observer.observations) >= 30)

        assert observer.observations[:20] == [f"unit_{n}" for n in range(10)] * 2
        assert len(observer.threads) == 1
        assert threading.get_ident() not in observer.threads
        await cancel(*watches)

    run(scenario())


def test_the_watcher_ends_with_its_last_watch_and_begins_again_with_the_next() -> None:
    async def scenario() -> None:
        observer = ScriptedObserver()
        watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
        await cancel(start(watcher, "flights"))
        await until(all_rounds_are_over)
        looked = len(observer.observations)

        observer.statuses["flights"] = dead("flights")

        assert await start(watcher, "flights") is Hint.CHANGED
        assert len(observer.observations) == looked + 1

    run(scenario())


def test_a_loop_has_one_watcher() -> None:
    async def scenario() -> None:
        def make() -> Watcher:
            return Watcher(ScriptedObserver())

        assert Watcher.of_running_loop(make) is Watcher.of_running_loop(make)

    run(scenario())


def test_a_watch_ends_after_its_time_even_when_nothing_can_be_seen() -> None:
    watch = Watch("flights", 1, TOMORROW)

    assert hints([watch], {}, TOMORROW - timedelta(seconds=1)) == {}
    assert hints([watch], {}, TOMORROW) == {watch: Hint.DAY_OVER}


def test_the_younger_watch_of_a_generation_takes_over_from_the_older() -> None:
    older, younger = Watch("flights", 1, TOMORROW), Watch("flights", 1, TOMORROW + timedelta(minutes=1))

    assert hints([younger, older], {"flights": alive("flights")}, START) == {older: Hint.HANDED_OVER}


def test_a_death_is_told_to_every_watch_of_the_generation() -> None:
    older, younger = Watch("flights", 1, TOMORROW), Watch("flights", 1, TOMORROW + timedelta(minutes=1))

    found = hints([older, younger], {"flights": dead("flights")}, datetime(2013, 1, 7, 13, tzinfo=UTC))

    assert found == {older: Hint.CHANGED, younger: Hint.CHANGED}


def test_a_watch_of_an_older_generation_is_told_that_a_newer_one_took_over() -> None:
    newer = alive("flights")
    assert newer.attempt is not None
    newer = replace(newer, attempt=replace(newer.attempt, generation=2))
    older = Watch("flights", 1, TOMORROW)

    assert hints([older], {"flights": newer}, START) == {older: Hint.CHANGED}
