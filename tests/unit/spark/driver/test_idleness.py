"""When a driver ends because nothing comes, over every course of looks."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.spark.driver.idleness import Idleness

LIMIT = timedelta(minutes=30)
# Steps of which some add up to the limit exactly, and some to a second less or more.
steps = st.sampled_from([0.0, 1.0, 599.0, 600.0, 601.0, 1199.0, 1800.0])
looks = st.lists(st.tuples(steps, st.sampled_from([True, True, True, False])), max_size=40)


@given(looks)
def test_it_ends_exactly_after_so_long_without_a_break(course: list[tuple[float, bool]]) -> None:
    idleness, now, rests_since = Idleness(LIMIT), 0.0, None
    for step, at_rest in course:
        now += step
        rests_since = (now if rests_since is None else rests_since) if at_rest else None
        due = rests_since is not None and now - rests_since >= LIMIT.total_seconds()
        assert idleness.over(at_rest, now) is due


@given(looks)
def test_without_a_limit_it_never_ends(course: list[tuple[float, bool]]) -> None:
    idleness, now = Idleness(None), 0.0
    for step, at_rest in course:
        now += step
        assert not idleness.over(at_rest, now)
