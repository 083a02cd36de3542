"""Periodic work: begun when it is time, never twice at once, and what it raises is raised where it was begun."""

from __future__ import annotations

from threading import Event

import pytest

from sluice.clock import SystemClock
from sluice.launch.processes import wait_until
from sluice.spark.settling.periodic_task import PeriodicTask
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


def called_until(task: PeriodicTask, work: Work, done: int) -> bool:
    def again() -> bool:
        task()
        return work.done == done

    return wait_until(again, SystemClock(), deadline_seconds=120)


def test_it_is_done_when_it_is_time_and_not_while_it_runs() -> None:
    clock, work = ManualClock(), Work()
    task = PeriodicTask(work, lambda: 10, clock)
    task()
    assert work.done == 0
    clock.sleep(10)
    task()
    clock.sleep(100)
    task()  # it runs
    work.may_end.set()
    assert called_until(task, work, 1)
    task()  # sees that it has ended
    clock.sleep(9)
    task()
    assert work.done == 1
    clock.sleep(1)
    assert called_until(task, work, 2)


def test_it_is_not_done_while_nobody_needs_it() -> None:
    clock, work, every = ManualClock(), Work(), [None, 1.0]
    task = PeriodicTask(work, lambda: every[0], clock)
    work.may_end.set()
    clock.sleep(100)
    task()
    assert work.done == 0
    every.pop(0)
    assert called_until(task, work, 1)


def test_what_it_raises_is_raised_by_the_next_call() -> None:
    clock, work = ManualClock(), Work()
    work.error = ValueError("no room")
    work.may_end.set()
    task = PeriodicTask(work, lambda: 0, clock)
    with pytest.raises(ValueError, match="no room"):
        called_until(task, work, 2)
    assert work.done == 1
