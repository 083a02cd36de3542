"""Axes of numbers: round steps, all values on them, and ticks that can be told apart."""

from __future__ import annotations

import sys
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.console.charts.axis import number_axis, place_between, step_of

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NOTHING = 1e-300
"""A value so near to zero is drawn there."""
EDGE = sys.float_info.max


def texts(*values: float, **options: bool) -> list[str]:
    return [tick.text for tick in number_axis(values, **options).ticks]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.0, 17.0), ["0", "5", "10", "15", "20"]),
        ((0.0, 0.0), ["0.0", "0.5", "1.0"]),
        ((0, 2), ["0", "1", "2"]),
        ((3.0, 3.0), ["0", "1", "2", "3"]),
        ((-30.0, 50.0), ["-40", "-20", "0", "20", "40", "60"]),
        ((1013.2, 1013.9), ["1,013.2", "1,013.4", "1,013.6", "1,013.8", "1,014.0"]),
        ((1000.0, 1000.05), ["0", "500", "1,000", "1,500"]),
        ((1010.0, 1018.0), ["1,010", "1,012", "1,014", "1,016", "1,018"]),
        ((0.0, 2_400_000.0), ["0", "1 M", "2 M", "3 M"]),
        ((0.0, 1e18), ["0", "5e17", "1e18"]),
        ((0.0, 0.00004), ["0", "1e-5", "2e-5", "3e-5", "4e-5"]),
    ],
)
def test_steps_are_1_2_or_5_and_have_the_digits_they_need(values: tuple[float, ...], expected: list[str]) -> None:
    found = [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts(*values)]
    assert [text for text in found if text != "0"] == [text for text in expected if text not in ("0", "0.0")]


def test_values_far_from_zero_have_an_axis_of_their_own_unless_it_is_to_begin_at_zero() -> None:
    assert number_axis([1010.0, 1018.0]).low == 1010
    assert number_axis([1010.0, 1018.0], from_zero=True).low == 0
    assert number_axis([-1018.0, -1010.0]).high == -1010


def test_whole_numbers_have_no_ticks_between_them() -> None:
    assert texts(0, 1) == ["0", "1"]


@given(st.lists(FINITE, min_size=1, max_size=20), st.booleans())
@example([EDGE, -EDGE], False)
@example([EDGE, EDGE / 2], False)
@example([5e-324], False)
@example([-1.7597367319632948e-307], False)
@example([1e15, 1e15 + 0.125], False)
def test_every_value_is_on_its_axis_and_every_tick_in_its_domain(values: list[float], from_zero: bool) -> None:
    axis = number_axis(values, from_zero=from_zero)
    assert axis.low <= min(values) + NOTHING
    assert max(values) - NOTHING <= axis.high
    assert axis.low < axis.high
    places = [tick.at for tick in axis.ticks]
    assert all(0 <= place <= 100 for place in places)
    assert all(left < right for left, right in pairwise(places))
    assert len({tick.text for tick in axis.ticks}) == len(axis.ticks)
    assert all(len(tick.text) <= 11 for tick in axis.ticks)
    assert len(axis.ticks) <= 7
    if from_zero:
        assert axis.low <= 0 <= axis.high


@given(FINITE, FINITE)
def test_a_greater_value_is_never_further_down(first: float, second: float) -> None:
    axis = number_axis([first, second])
    lower, upper = sorted((first, second))
    assert 0 <= axis.place(lower) <= axis.place(upper) <= 100


@given(st.floats(1e-300, 1e308))
def test_a_step_is_the_least_that_is_no_less(wanted: float) -> None:
    step = step_of(wanted)
    assert step.normalize().as_tuple().digits in {(1,), (2,), (5,)}
    assert Decimal(wanted) * Decimal("0.99999") <= step <= Decimal(wanted) * Decimal("2.51")


def test_a_place_beyond_the_ends_is_at_the_end() -> None:
    assert [place_between(value, 0, 10) for value in (-5, 5, 15)] == [0, 50, 100]
