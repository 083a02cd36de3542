"""How a watcher spreads its observations and verdicts over rounds, and what they cost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from sluice.airflow.streams.watcher import MAX_TOGETHER, Watcher, due
from sluice.streams.health.pacing import MAX_SECONDS, PollRate
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import ManualClock
from tests.unit.airflow.streams.watching import EAGER, ScriptedObserver, cancel, start, until


class BusyObserver(ScriptedObserver):
    """Its first observation costs so much that the next would be in a minute."""

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


async def test_a_thousand_units_are_observed_in_parts_and_none_is_left_out() -> None:
    observer, units = ScriptedObserver(), [f"unit_{n:04}" for n in range(2 * MAX_TOGETHER + 1)]
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    watches = [start(watcher, unit) for unit in units]
    await until(lambda: len(observer.parts) > 3 and set(observer.recorded) == set(units))

    round_of_observations = observer.observations[observer.observations.index(units[0]) :]
    assert round_of_observations[: len(units)] == units
    assert max(observer.parts) == MAX_TOGETHER
    await cancel(*watches)


async def test_what_one_round_paid_for_makes_the_next_no_longer() -> None:
    observer, rate = BusyObserver(), NotedRate(0.0, share=1e-3)
    watcher = Watcher(observer, observations=rate, verdicts=EAGER, clock=ManualClock())
    flights = start(watcher, "flights")
    await until(lambda: len(rate.periods) > 3)
    await cancel(flights)

    assert rate.period(0.06) == 0.0
    assert rate.periods[-1] == MAX_SECONDS, "what the first round cost would do, if it counted"
    assert max(rate.periods[:4]) < MAX_SECONDS


async def test_a_round_is_spread_over_its_period() -> None:
    """The second of two parts is asked about in the middle of a round, not right after the first."""
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


def test_an_observation_that_comes_a_moment_early_is_judged_all_the_same() -> None:
    """Where observations and verdicts are equally rare, the next one would come too late: a minute after this one."""
    judged_at = {"early": 45.5, "on time": 45.0, "much too early": 70.0}
    assert due(["early", "never", "on time", "much too early"], judged_at, 100.0, 55.0) == ["early", "never", "on time"]


def test_no_more_are_judged_together_than_are_observed_together() -> None:
    assert len(due([f"unit_{n}" for n in range(2 * MAX_TOGETHER)], {}, 100.0, 55.0)) == MAX_TOGETHER


async def test_looks_that_are_more_frequent_than_verdicts_are_not_all_judged() -> None:
    observer = ScriptedObserver()
    hourly = PollRate(3600.0, share=1.0, most=3600.0)
    watcher = Watcher(observer, observations=EAGER, verdicts=hourly, clock=ManualClock())
    flights, weather = start(watcher, "flights"), start(watcher, "weather")
    await until(lambda: len(observer.observations) > 20)
    await cancel(flights, weather)
    assert sorted(observer.recorded) == ["flights", "weather"]


async def test_a_hundred_watches_cost_one_observation_per_unit_and_round_in_one_thread() -> None:
    observer = ScriptedObserver()
    watcher = Watcher(observer, observations=EAGER, verdicts=EAGER, clock=ManualClock())
    watches = [start(watcher, f"unit_{n % 10}") for n in range(100)]
    await until(lambda: len(observer.observations) >= 30)

    assert observer.observations[:20] == [f"unit_{n}" for n in range(10)] * 2
    assert len(observer.threads) == 1
    assert threading.get_ident() not in observer.threads
    await cancel(*watches)
