"""Work beside batches: begun when it is time, never twice at once, and what it raises is raised where it was begun."""

from __future__ import annotations

from threading import Event

import pytest

from sluice.clock import SystemClock
from sluice.launch.processes import wait_until
from sluice.spark.settling.aside import Aside
from tests.twins.clock import ManualClock


class Work:
    """Counts how often it is done, and ends when it may."""

    def __init__(self) -> None:
        self.may_end = Event()
        self.done = 0
        self.error: Exception | None = None

    def __call__(self) -> None:
        assert self.may_end.wait(20)
        self.done += 1
        if self.error is not None:
            raise self.error


def called_until(aside: Aside, work: Work, done: int) -> bool:
    def again() -> bool:
        aside()
        return work.done == done

    return wait_until(again, SystemClock(), deadline_seconds=20)


def test_it_is_done_when_it_is_time_and_not_while_it_runs() -> None:
    clock, work = ManualClock(), Work()
    aside = Aside(work, lambda: 10, clock)
    aside()
    assert work.done == 0
    clock.sleep(10)
    aside()
    clock.sleep(100)
    aside()  # it runs
    work.may_end.set()
    assert called_until(aside, work, 1)
    aside()  # sees that it has ended
    clock.sleep(9)
    aside()
    assert work.done == 1
    clock.sleep(1)
    assert called_until(aside, work, 2)


def test_it_is_not_done_while_nobody_needs_it() -> None:
    clock, work, every = ManualClock(), Work(), [None, 1.0]
    aside = Aside(work, lambda: every[0], clock)
    work.may_end.set()
    clock.sleep(100)
    aside()
    assert work.done == 0
    every.pop(0)
    assert called_until(aside, work, 1)


def test_what_it_raises_is_raised_by_the_next_call() -> None:
    clock, work = ManualClock(), Work()
    work.error = ValueError("no room")
    work.may_end.set()
    aside = Aside(work, lambda: 0, clock)
    with pytest.raises(ValueError, match="no room"):
        called_until(aside, work, 2)
    assert work.done == 1
