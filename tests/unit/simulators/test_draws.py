"""Values of fields: that they have the declared distribution, repeat themselves, and do not depend on other fields."""

from __future__ import annotations

import math
from collections import Counter
from statistics import mean, median, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.simulators.draws import FieldDraw
from sluice.specs.feeds.distribution import Distribution

EVENTS = 20_000
NUMBERS = st.floats(-1e6, 1e6)


def drawn(count: int = EVENTS, seed: int = 1, known: dict[str, Any] | None = None, **keys: Any) -> list[Any]:  # noqa: ANN401
    draw = FieldDraw("field", Distribution.model_validate(keys), seed)
    return [draw.next(number, known or {}) for number in range(1, count + 1)]


def test_a_sequence_numbers_the_events() -> None:
    assert drawn(3, sequence="post-") == ["post-1", "post-2", "post-3"]
    assert drawn(3, sequence="") == [1, 2, 3]


def test_a_choice_follows_its_weights_and_a_list_has_none() -> None:
    counts = Counter(drawn(choice={"en": 6, "de": 3, "pt": 1}))
    assert {name: round(count / EVENTS, 1) for name, count in counts.items()} == {"en": 0.6, "de": 0.3, "pt": 0.1}
    assert all(abs(count / EVENTS - 0.25) < 0.02 for count in Counter(drawn(choice=[1, False, "x", 2.5])).values())


def test_zipf_falls_by_rank_to_the_exponent() -> None:
    counts = Counter(drawn(zipf=1000, exponent=1.0, prefix="tag"))
    harmonic = sum(1 / n for n in range(1, 1001))
    for n in (1, 2, 5):
        assert counts[f"tag{n}"] / EVENTS == pytest.approx(1 / n / harmonic, rel=0.1)


@pytest.mark.parametrize(
    ("keys", "average", "spread"),
    [
        ({"uniform": [10, 20], "digits": 6}, 15, 10 / math.sqrt(12)),
        ({"normal": [50, 4], "digits": 6}, 50, 4),
        ({"exponential": 7, "digits": 6}, 7, 7),
    ],
)
def test_numbers_have_their_mean_and_deviation(keys: dict[str, Any], average: float, spread: float) -> None:
    values = drawn(**keys)
    assert mean(values) == pytest.approx(average, rel=0.03)
    assert stdev(values) == pytest.approx(spread, rel=0.03)


def test_a_lognormal_number_has_its_median_and_the_deviation_of_its_logarithm() -> None:
    values = drawn(lognormal=[30, 0.8], digits=9)
    assert median(values) == pytest.approx(30, rel=0.03)
    assert stdev(map(math.log, values)) == pytest.approx(0.8, rel=0.03)


def test_whole_numbers_of_a_range_are_equally_likely_its_ends_too() -> None:
    counts = Counter(drawn(uniform=[1, 6], digits=0))
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert all(type(value) is int and abs(count / EVENTS - 1 / 6) < 0.02 for value, count in counts.items())


@given(low=NUMBERS, high=NUMBERS, digits=st.integers(0, 9), normal=st.tuples(NUMBERS, st.floats(0, 1e6)))
def test_a_number_lies_within_its_bounds(low: float, high: float, digits: int, normal: tuple[float, float]) -> None:
    low, high = sorted((low, high))
    values = drawn(5, normal=normal, least=low, most=high, digits=digits)
    half = 0.5 * 10**-digits  # rounding may cross a bound that has more digits
    assert all(low - half <= value <= high + half for value in values)


def test_a_share_of_events_lacks_an_optional_field() -> None:
    assert Counter(drawn(constant="x", absent=0.2))[None] / EVENTS == pytest.approx(0.2, rel=0.05)
    assert drawn(5, constant=False, absent=1.0) == [None] * 5


def test_an_array_has_different_values_and_no_more_than_there_are() -> None:
    values = drawn(500, zipf=5, many=[0, 3])
    assert {len(value) for value in values} == {0, 1, 2, 3}
    assert all(len(set(value)) == len(value) for value in values)
    assert all(sorted(value) == ["a", "b"] for value in drawn(9, choice=["a", "b"], many=[4, 4]))


def test_a_field_per_another_is_the_same_for_each_of_its_values() -> None:
    draw = FieldDraw("region", Distribution(choice=("north", "south", "west"), per="service"), 3)
    regions: dict[str, set[str]] = {}
    for number in range(200):
        service = f"s{number % 20}"
        regions.setdefault(service, set()).add(draw.next(number, {"service": service}))
    assert all(len(found) == 1 for found in regions.values())
    assert len(set.union(*regions.values())) == 3, "they do not all have the same one"


def test_text_is_made_of_earlier_fields_and_times() -> None:
    known = {"host": "10.0.0.1", "at": "2026-01-05T00:00:00Z"}
    assert drawn(1, known=known, text="{host} [{at}] {{}}") == ["10.0.0.1 [2026-01-05T00:00:00Z] {}"]


KINDS: list[dict[str, Any]] = [
    {"choice": {"a": 1, "b": 2}},
    {"zipf": 50},
    {"normal": [0, 1]},
    {"exponential": 2},
    {"uniform": [0, 9], "many": [0, 4]},
]


@pytest.mark.parametrize("keys", KINDS)
def test_the_same_seed_draws_the_same_and_another_one_does_not(keys: dict[str, Any]) -> None:
    assert drawn(50, seed=7, **keys) == drawn(50, seed=7, **keys) != drawn(50, seed=8, **keys)


def test_what_is_drawn_for_a_seed_stays_what_it_was() -> None:
    """Whoever sent half of a feed goes on with another version of Python or of Sluice."""
    assert drawn(4, zipf=100, prefix="u") == GOLDEN[0]
    assert drawn(4, normal=[10, 2]) == GOLDEN[1]
    assert drawn(4, uniform=[0, 9], digits=0, many=[1, 2]) == GOLDEN[2]


GOLDEN: list[list[Any]] = [
    ["u3", "u4", "u8", "u25"],
    [9.28, 9.62, 10.35, 11.54],
    [[8], [5, 9], [6, 1], [1]],
]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "found nothing of sequence, constant"),
        ({"constant": 1, "zipf": 5}, "found `constant` and `zipf`, of"),
        ({"constant": 1, "digits": 2}, "`digits` is only of exponential, lognormal, normal, uniform"),
        ({"choice": ["a"], "exponent": 2}, "`exponent` is only of zipf"),
        ({"choice": {}}, "at least 1 item"),
        ({"choice": {"a": 0}}, "greater than 0"),
        ({"uniform": [2, 1]}, "ends before it begins"),
        ({"normal": [2, -1]}, "a standard deviation of -1 is below 0"),
        ({"normal": [0, 1], "least": 3, "most": 2}, "`least` 3 is above `most` 2"),
        ({"zipf": 3, "many": [3, 1]}, "no counts from the least to the most"),
        ({"text": "{a.__class__}"}, "more in braces than the name of a field"),
        ({"text": "{a!r}"}, "more in braces than the name of a field"),
        ({"text": "{"}, "is no template"),
    ],
)
def test_a_distribution_that_says_nothing_definite_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Distribution.model_validate(keys)
