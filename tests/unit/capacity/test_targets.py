from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.capacity.targets import Target, WantedRate, parse_rate
from sluice.errors import SpecError
from sluice.specs.deployments.prices import Prices


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("2x", 200.0),
        (" 1.5 x ", 150.0),
        ("5000/s", 5000.0),
        ("60,000/min", 1000.0),
        ("3.6e6 / h", 1000.0),
        ("86400/day", 1.0),
    ],
)
def test_a_rate_is_a_factor_or_records_per_time(text: str, rate: float) -> None:
    assert parse_rate(text).of(100) == pytest.approx(rate)


@pytest.mark.parametrize(
    "text",
    ["", "2", "x", "0x", "-2x", "nanx", "infx", "0/s", "1e99/s", "5/fortnight", "1.2.3x", "1e/s", "2xx", "+x", "1_0x"],
)
def test_anything_else_is_refused_and_what_to_write_is_said(text: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_rate(text)
    assert "2x" in refused.value.fix


@given(st.text(max_size=12))
def test_no_text_is_an_error_of_another_kind(text: str) -> None:
    with suppress(SpecError):
        assert 0 < parse_rate(text).of(1.0) <= 1e10


@pytest.mark.parametrize(
    "wrong",
    [
        {"latency": 0.0},
        {"latency": math.nan},
        {"outage": -1.0},
        {"outage": math.inf},
        {"catch_up": 0.0},
        {"headroom": 1.0},
        {"headroom": -0.1},
        {"headroom": math.nan},
        {"days": 0.0},
    ],
)
def test_a_wish_that_has_no_meaning_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="cannot be planned for"):
        Target(WantedRate(factor=2), **wrong)


@pytest.mark.parametrize("price", [-0.01, math.nan, math.inf])
@pytest.mark.parametrize("name", ["core_hour", "memory_gb_hour", "disk_gb_month"])
def test_a_price_is_a_number_that_is_not_negative(name: str, price: float) -> None:
    with pytest.raises(ValidationError):
        Prices.model_validate({"currency": "EUR", name: price})


@pytest.mark.parametrize("currency", ["", "eur", "EURO", "€"])
def test_a_currency_is_a_code(currency: str) -> None:
    with pytest.raises(ValidationError):
        Prices(currency=currency)
