from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.health.lag import MIN_SPAN_SECONDS, growth, seconds_to_catch_up, shrinks
from sluice.streams.health.window import Point


def course(minutes: float, behind: list[float]) -> list[Point]:
    step = minutes * 60 / (len(behind) - 1)
    return [Point(n * step, value) for n, value in enumerate(behind)]


def leaking(minutes: float, share: float, every: float = 20.0, noise: float = 0.0) -> list[Point]:
    random = Random(1)
    steps = int(minutes * 60 / every)
    return [Point(n * every, 30 + share * n * every + random.gauss(0, noise)) for n in range(steps + 1)]


@pytest.mark.parametrize("share", [0.02, 0.1, 1.0])
def test_a_leak_is_found_and_measured(share: float) -> None:
    found = growth(leaking(40, share, noise=2))
    assert found is not None
    assert found.seconds == pytest.approx(share * 2400, rel=0.5)
    assert found.rate == pytest.approx(share, rel=0.5)


def test_what_is_tolerated_is_no_leak() -> None:
    assert growth(leaking(600, 0.004)) is None


def test_growth_that_has_not_lasted_is_no_leak() -> None:
    assert growth(leaking(MIN_SPAN_SECONDS / 60 - 1, 0.5)) is None
    assert growth(leaking(MIN_SPAN_SECONDS / 60 + 1, 0.5)) is not None


def test_a_burst_that_is_being_worked_off_is_no_leak() -> None:
    rising, falling = [30 + n * 10.0 for n in range(31)], [330 - n * 5.0 for n in range(60)]
    for seen in range(10, len(rising + falling)):
        behind = (rising + falling)[:seen]
        assert growth(course(seen * 10 / 60, behind)) is None


def test_a_saw_that_comes_back_to_where_it_was_is_no_leak() -> None:
    tooth = [*[20 + n * 10.0 for n in range(15)], *[170 - n * 5.0 for n in range(30)]]
    assert growth(course(120, tooth * 4)) is None


def test_a_leak_is_dated_from_when_it_began() -> None:
    steady = [Point(n * 20.0, 30) for n in range(90)]
    leak = [Point(1800 + n * 20.0, 30 + n) for n in range(75)]
    found = growth([*steady, *leak])
    assert found is not None
    assert found.since == pytest.approx(1800, abs=60)


def test_a_burst_after_a_long_time_without_a_rest_is_no_leak() -> None:
    steady = [Point(n * 20.0, 30) for n in range(90)]
    assert growth([*steady, *[Point(1800 + n * 20.0, 30 + n * 30) for n in range(15)]]) is None


def test_a_leak_that_has_begun_to_shrink_is_none_although_it_is_still_behind() -> None:
    up = leaking(40, 0.05)
    down = [Point(up[-1].at + n * 20, up[-1].behind - n * 3) for n in range(1, 31)]
    assert down[-1].behind > up[0].behind + 25
    assert growth([*up, *down]) is None


def test_growth_that_is_hardly_more_than_tolerated_takes_longer_to_prove() -> None:
    assert growth(leaking(21, 0.006)) is None
    assert growth(leaking(60, 0.01)) is not None


def test_a_leak_that_stopped_is_over() -> None:
    up = leaking(40, 0.05)
    down = [Point(up[-1].at + n * 20, up[-1].behind - n * 5) for n in range(1, 60)]
    assert growth(up) is not None
    assert growth([*up, *down]) is None


def test_a_few_batches_prove_nothing() -> None:
    assert growth(leaking(200, 0.5, every=3000)) is None


def test_catching_up_has_an_end_in_sight() -> None:
    falling = course(10, [1000 - n * 10.0 for n in range(61)])
    assert shrinks(falling)
    assert seconds_to_catch_up(falling) == pytest.approx(400)


@pytest.mark.parametrize("behind", [[30.0] * 9, [30.0, 40, 50, 60], [90.0, 10]])
def test_what_does_not_shrink_has_none(behind: list[float]) -> None:
    assert seconds_to_catch_up(course(10, behind)) is None
    assert not shrinks(course(10, behind))


def test_an_empty_course_says_nothing() -> None:
    assert growth([]) is None
    assert seconds_to_catch_up([]) is None


@given(st.lists(st.integers(0, 10**6), max_size=60), st.integers(0, 10**5))
def test_a_leak_is_one_whenever_it_happens_and_however_far_behind_the_stream_was(behind: list[int], more: int) -> None:
    points = [Point(n * 60.0, value) for n, value in enumerate(behind)]
    found = growth(points)
    moved = growth([Point(p.at + 86_400, p.behind + more) for p in points])
    assert (found is None) == (moved is None)
    if found is not None and moved is not None:
        assert moved.seconds == pytest.approx(found.seconds)
