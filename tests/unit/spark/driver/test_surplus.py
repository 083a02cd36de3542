from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.spark.driver.surplus import SHARE, WINDOW_SECONDS, ExecutorLoad, SurplusExecutors, surplus
from tests.twins.clock import ManualClock


def executors(count: int, *, worked: float = 0.0, cores: int = 1) -> list[ExecutorLoad]:
    """Return executors of which each has worked for so many seconds."""
    return [ExecutorLoad(str(number), cores, worked, 0, 0) for number in range(count)]


def going(now: Sequence[ExecutorLoad], *, least: int = 1, seconds: float = 30) -> tuple[str, ...]:
    """Return which of them go that were all there before they worked."""
    return surplus({each.name: 0.0 for each in now}, now, seconds=seconds, least_cores=least)


def test_what_hardly_works_goes_down_to_the_least() -> None:
    assert len(going(executors(4, worked=0.1))) == 3
    assert len(going(executors(4, worked=0.1), least=3)) == 1
    assert going(executors(2), least=2) == ()


def test_as_many_stay_as_work_for_their_share() -> None:
    assert going(executors(4, worked=30 * SHARE)) == ()
    assert len(going(executors(4, worked=30 * SHARE / 2))) == 2


def test_a_large_executor_goes_only_if_the_least_cores_stay() -> None:
    assert going(executors(2, cores=2), least=3) == ()
    assert len(going(executors(2, cores=2), least=2)) == 1


@pytest.mark.parametrize("holds", [{"tasks": 1}, {"kept": 1}])
def test_what_has_a_task_or_keeps_rows_stays(holds: dict[str, int]) -> None:
    first, second = executors(2)
    busy = ExecutorLoad(first.name, 1, 0.0, holds.get("tasks", 0), holds.get("kept", 0))
    assert going([busy, second]) == ("1",)
    assert going([busy, replace(busy, name="1")]) == ()


def test_what_came_a_moment_ago_has_not_shown_yet_what_it_is_for() -> None:
    assert surplus({"0": 0.0}, executors(3), seconds=30, least_cores=1) == ("0",)
    assert surplus({}, executors(3), seconds=30, least_cores=1) == ()


loads = st.lists(
    st.builds(
        ExecutorLoad, st.uuids().map(str), st.integers(1, 4), st.floats(0, 500), st.integers(0, 2), st.integers(0, 2)
    ),
    max_size=8,
)


@given(loads, st.integers(1, 16), st.floats(1, 120))
def test_never_is_too_little_left_and_never_goes_what_is_needed(
    now: list[ExecutorLoad], least: int, seconds: float
) -> None:
    gone = set(going(now, least=least, seconds=seconds))
    left = sum(each.cores for each in now if each.name not in gone)
    assert not gone or left >= least
    assert not gone or sum(each.task_seconds for each in now) / seconds <= left * SHARE + 1e-6
    assert not [each for each in now if each.name in gone and (each.tasks or each.kept)]


class Session:
    """Executors of a session, and those that were given back."""

    def __init__(self, count: int) -> None:
        self.living = executors(count)
        self.released: list[str] = []

    def loads(self) -> list[ExecutorLoad]:
        return self.living

    def release(self, names: Sequence[str]) -> None:
        self.released += names
        self.living = [each for each in self.living if each.name not in names]

    def work(self, seconds: float) -> None:
        """Let each executor work for so long."""
        self.living = [replace(each, task_seconds=each.task_seconds + seconds) for each in self.living]


def test_it_is_looked_at_once_in_a_window_and_only_the_work_in_it_counts() -> None:
    session, clock = Session(4), ManualClock()
    watched = SurplusExecutors(1, session.loads, session.release, clock)
    session.work(10_000)  # the backlog, before
    watched.update()
    clock.sleep(WINDOW_SECONDS - 1)
    watched.update()
    assert session.released == []
    clock.sleep(1)
    session.work(WINDOW_SECONDS)
    watched.update()
    assert session.released == []  # all are at work
    clock.sleep(WINDOW_SECONDS)
    watched.update()
    assert len(session.released) == 3
    clock.sleep(WINDOW_SECONDS)
    watched.update()
    assert len(session.released) == 3
