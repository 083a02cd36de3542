"""Numbers as people read them."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.console.charts.numbers import change_text, exact_text, number_text

FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300)
MAGNITUDE = {"": 1, "M": 10**6, "G": 10**9, "T": 10**12}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "unknown"), (0, "0"), (-0.0, "0"), (7, "7"), (0.123456, "0.123"), (9.5, "9.5"), (123.4, "123")),
        *((9999, "9,999"), (12345, "12,345"), (999_999, "999,999"), (1_234_567, "1.23 M"), (-2_500_000, "-2.5 M")),
        *((3e9, "3 G"), (4.56e13, "45.6 T"), (1.23456e18, "1.23e18"), (0.000012345, "1.23e-5"), (-0.5, "-0.5")),
    ],
)
def test_a_number_has_three_digits_that_count(value: float | None, text: str) -> None:
    assert number_text(value) == text.replace(" ", "\N{NO-BREAK SPACE}")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1_234_567, "1,234,567"), (0.1234567, "0.123457"), (1234.5, "1,234.5"), (2e15, "2e15"), (None, "unknown")],
)
def test_an_exact_number_has_all_that_say_something(value: float | None, text: str) -> None:
    assert exact_text(value) == text


@pytest.mark.parametrize(
    ("unit", "text"), [("", "5"), ("/s", "5/s"), ("%", "5%"), ("min", "5 min"), ("posts/min", "5 posts/min")]
)
def test_a_unit_follows_its_number_on_the_same_line(unit: str, text: str) -> None:
    assert number_text(5, unit) == text.replace(" ", "\N{NO-BREAK SPACE}")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.25, "+25 %"), (-0.031, "\N{MINUS SIGN}3.1 %"), (0, "0 %"), (12.5, "+1,250 %"), (1e308, "+1e308 %")],
)
def test_a_change_has_its_sign(share: float, text: str) -> None:
    assert change_text(share) == text.replace(" ", "\N{NO-BREAK SPACE}")


@given(FINITE)
@example(1.795e308)  # three digits of it are more than a float holds
def test_every_finite_number_is_short_and_near_what_it_says(value: float) -> None:
    text = number_text(value)
    assert len(text) <= 10
    found = re.fullmatch(r"(-?[0-9,.]+(?:e-?[0-9]+)?)(?:\xa0([MGT]))?", text)
    assert found, text
    said, exact = Decimal(found[1].replace(",", "")) * MAGNITUDE[found[2] or ""], Decimal(value)
    assert abs(said - exact) <= max(Decimal("0.006") * abs(exact), Decimal("1e-320"))
