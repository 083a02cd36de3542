"""Bounds: what they admit, and how history gives them."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.quality.measured import Bounds, bounds_from, bounds_of
from sluice.specs.expectations.model import Expectation, HistoricalBounds

NUMBERS = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "words"),
    [
        (Bounds(3, 7), (3, 5, 7), (2.9, 7.1), "at least 3 and at most 7"),
        (Bounds(3, 7, strict_low=True, strict_high=True), (3.1, 6.9), (3, 7), "more than 3 and less than 7"),
        (Bounds(low=3), (3, 1e12, inf), (2, nan), "at least 3"),
        (Bounds(high=7), (-1e12, 7), (8, nan), "at most 7"),
        (Bounds(4, 4), (4,), (3, 5), "exactly 4"),
        (Bounds(), (0,), (nan,), "anything"),
    ],
)
def test_bounds_admit_what_lies_within(
    bounds: Bounds, inside: tuple[float, ...], outside: tuple[float, ...], words: str
) -> None:
    assert all(bounds.admits(value) for value in inside)
    assert not any(bounds.admits(value) for value in outside)
    assert str(bounds) == words


def test_bounds_of_a_spec_are_its_arguments() -> None:
    between = Expectation(
        expect="expect_column_mean_to_be_between", kwargs={"column": "d", "min_value": 1, "strict_min": True}
    )
    assert bounds_of(between) == Bounds(1, None, strict_low=True)
    assert bounds_of(Expectation(expect="expect_table_row_count_to_equal", kwargs={"value": 5})) == Bounds(5, 5)
    fresh = Expectation(expect="expect_interval_to_reach_its_end", kwargs={"within": "2 minutes"})
    assert bounds_of(fresh) == Bounds(None, 120, strict_high=True)
    unique = Expectation(expect="expect_column_values_to_be_unique", kwargs={"column": "id"})
    assert bounds_of(unique) is None


def test_with_too_little_history_there_are_no_bounds() -> None:
    rule = HistoricalBounds(intervals=10, at_least=5)
    assert bounds_from(rule, [1.0] * 4) is None
    assert bounds_from(rule, [1.0] * 5) is not None


def test_the_band_is_so_many_deviations_around_the_median() -> None:
    found = bounds_from(HistoricalBounds(intervals=10, deviations=3, share=0), [8, 9, 10, 11, 12])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((10 - 3 * 1.4826, 10 + 3 * 1.4826))


def test_where_nothing_varied_a_share_of_the_median_is_allowed() -> None:
    assert bounds_from(HistoricalBounds(intervals=10, share=0.1), [200.0] * 6) == Bounds(180, 220)


@given(st.lists(NUMBERS, min_size=9, max_size=30), NUMBERS)
def test_one_outlier_moves_the_middle_no_further_than_to_its_neighbours(values: list[float], outlier: float) -> None:
    rule = HistoricalBounds(intervals=50, share=0, deviations=1)
    before, after = bounds_from(rule, values), bounds_from(rule, [*values, outlier])
    assert before is not None
    assert after is not None
    ordered = sorted(values)
    half = len(ordered) // 2
    middle = ((after.low or 0) + (after.high or 0)) / 2
    slack = 1e-6 * max(1.0, *map(abs, [*values, outlier]))
    assert ordered[half - 1] - slack <= middle <= ordered[min(half + 1, len(ordered) - 1)] + slack


@given(st.lists(NUMBERS, min_size=5, max_size=30))
def test_the_median_itself_always_holds(values: list[float]) -> None:
    found = bounds_from(HistoricalBounds(intervals=50), values)
    assert found is not None
    assert found.admits(sorted(values)[len(values) // 2]) or len(values) % 2 == 0


def test_what_was_no_number_is_not_in_the_history() -> None:
    rule = HistoricalBounds(intervals=10, at_least=3)
    assert bounds_from(rule, [1.0, nan, 2.0, nan, 3.0]) == bounds_from(rule, [1.0, 2.0, 3.0])
    assert bounds_from(rule, [1.0, nan, 2.0]) is None
