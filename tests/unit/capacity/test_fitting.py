from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.capacity.fitting import FitSample, fitted, fitted_interval

amounts = st.lists(st.integers(0, 10_000_000), min_size=2, max_size=30).filter(any)
values = st.floats(0, 1e4)


def samples(fixed: float, each: float, *amounts: int) -> list[FitSample]:
    return [FitSample(10, amount, 10 * fixed + each * amount) for amount in amounts]


def test_both_parts_are_found_where_there_is_no_noise() -> None:
    found = fitted(samples(0.3, 2e-6, 100_000, 400_000, 900_000, 250_000))
    assert (found.fixed, found.each) == pytest.approx((0.3, 2e-6))


def test_a_few_outliers_do_not_move_the_fixed_part_and_are_paid_per_record() -> None:
    regular = samples(0.3, 2e-6, *range(100_000, 2_000_000, 50_000))
    burst = FitSample(10, 1_000_000, 25.0)
    found = fitted([*regular, burst])
    assert found.fixed == pytest.approx(0.3, rel=0.05)
    assert found.each > 2.2e-6
    everything = [*regular, burst]
    predicted = sum(found.at(each.count, each.amount) for each in everything)
    assert predicted == pytest.approx(sum(each.value for each in everything))


@given(amounts=amounts, data=st.data())
def test_no_part_is_negative_and_the_total_stays(amounts: list[int], data: st.DataObject) -> None:
    measured = [FitSample(10, amount, data.draw(values)) for amount in amounts]
    found = fitted(measured)
    assert found.fixed >= 0
    assert found.each >= 0
    total = sum(each.value for each in measured)
    assert sum(found.at(each.count, each.amount) for each in measured) == pytest.approx(total, rel=1e-6, abs=1e-9)


@given(factor=st.floats(0.01, 100))
def test_a_fit_does_not_depend_on_units(factor: float) -> None:
    """Records in thousands cost a thousand times as much each."""
    first = [FitSample(10, 100, 3), FitSample(10, 300, 5), FitSample(10, 200, 4.5)]
    other = [FitSample(each.count, each.amount * factor, each.value) for each in first]
    assert fitted(other).each * factor == pytest.approx(fitted(first).each, rel=1e-5)
    assert fitted(other).fixed == pytest.approx(fitted(first).fixed, rel=1e-5)


def test_an_interval_is_around_the_fit_is_wider_with_noise_and_the_same_again() -> None:
    exact = samples(0.3, 2e-6, *range(100_000, 2_000_000, 100_000))
    noisy = [FitSample(s.count, s.amount, s.value * (1.2 if n % 2 else 0.8)) for n, s in enumerate(exact)]

    def of(measured: list[FitSample]) -> tuple[float, float]:
        return fitted_interval(measured, lambda fit: fit.at(1, 200_000))

    low, high = of(noisy)
    assert low < fitted(noisy).at(1, 200_000) < high
    assert high - low > 0.02
    assert of(exact) == pytest.approx((0.7, 0.7))
    assert of(noisy) == (low, high)


def test_one_busy_sample_among_many_is_not_thinned_away() -> None:
    many = [FitSample(1, 0, 2.0) for _ in range(1_600)]
    many[2] = FitSample(1, 100, 12.0)
    low, high = fitted_interval(many, lambda found: found.at(1, 100))
    assert 0 < low <= high
