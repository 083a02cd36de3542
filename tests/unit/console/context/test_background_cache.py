from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event

from sluice.console.context.background_cache import BackgroundCache, CachedValue
from tests.twins.clock import ManualClock
from tests.waiting import eventually

EVERY = timedelta(seconds=15)


def until(memory: BackgroundCache[int], true: Callable[[CachedValue[int]], bool]) -> CachedValue[int]:
    eventually(lambda: true(memory.get()))
    return memory.get()


def test_the_first_observation_is_waited_for_if_it_is_quick() -> None:
    clock = ManualClock()
    assert BackgroundCache(lambda: 7, clock, EVERY).get() == CachedValue(7, clock.now(), "", refreshing=False)


def test_a_page_does_not_wait_for_an_observation_that_takes_long() -> None:
    go = Event()
    memory = BackgroundCache(lambda: int(go.wait(10)), ManualClock(), EVERY)
    try:
        found = memory.get()
        assert (found.value, found.refreshing) == (None, True)
    finally:
        go.set()
    assert until(memory, lambda found: found.value is not None).value == 1


def test_an_observation_is_repeated_when_it_is_old_and_one_at_a_time() -> None:
    clock, calls = ManualClock(), []
    memory = BackgroundCache(lambda: calls.append(1) or len(calls), clock, EVERY)
    assert [memory.get().value for _ in range(3)] == [1, 1, 1]
    clock.sleep(EVERY.total_seconds())
    assert until(memory, lambda found: found.value == 2).value == 2
    assert len(calls) == 2


def test_what_failed_is_said_beside_what_was_known() -> None:
    clock, fails = ManualClock(), [False]

    def observe() -> int:
        if fails[0]:
            raise ValueError("no broker answers")
        return 7

    memory = BackgroundCache(observe, clock, EVERY)
    first = memory.get()
    fails[0] = True
    clock.sleep(EVERY.total_seconds())
    found = until(memory, lambda found: bool(found.error))
    assert (found.value, found.at, found.error) == (7, first.at, "no broker answers")
    fails[0] = False
    clock.sleep(EVERY.total_seconds())
    assert until(memory, lambda found: not found.error).value == 7
