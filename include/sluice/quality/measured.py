"""What is measured of an expectation in one interval, and which bounds it must lie within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median
from typing import Any, cast

from sluice.specs.expectations.model import Expectation, HistoricalBounds
from sluice.specs.expectations.set_level import BETWEEN, FreshArguments, OffsetsArguments, Own

_NORMAL = 1.4826
"""Median distances from the median, times this, are standard deviations where values are normally distributed."""


@dataclass(frozen=True)
class Measured:
    """What an interval's rows say to one expectation.

    Attributes:
        rows: the number of checked rows: those of the interval, without nulls and those that a condition leaves out.
        value: the number that bounds are about; None if there is none, as the mean of no rows.
        unexpected: how many of the rows are not as expected; None where single rows are not.
        sample: some that are not, as text.
        note: what else is worth saying.
    """

    rows: int
    value: float | None = None
    unexpected: int | None = None
    sample: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Bounds:
    """What a number must lie within; None is no bound.

    Attributes:
        low: the least.
        high: the greatest.
        strict_low: `low` itself is outside.
        strict_high: `high` itself is outside.
    """

    low: float | None = None
    high: float | None = None
    strict_low: bool = False
    strict_high: bool = False

    def admits(self, value: float) -> bool:
        """Whether a number lies within; what is no number does nowhere."""
        if isnan(value):
            return False
        if self.low is not None and (value <= self.low if self.strict_low else value < self.low):
            return False
        return self.high is None or (value < self.high if self.strict_high else value <= self.high)

    def __str__(self) -> str:
        if self.low is not None and self.low == self.high and not (self.strict_low or self.strict_high):
            return f"exactly {number(self.low)}"
        low = None if self.low is None else f"{'more than' if self.strict_low else 'at least'} {number(self.low)}"
        high = None if self.high is None else f"{'less than' if self.strict_high else 'at most'} {number(self.high)}"
        return " and ".join(filter(None, (low, high))) or "anything"


def bounds_of(expectation: Expectation) -> Bounds | None:
    """Return the bounds that the spec gives; None where it is rows that are unexpected, or nothing is given."""
    name, given = expectation.expect, cast("Mapping[str, Any]", expectation.kwargs)
    if name in BETWEEN:
        low, high = given.get("min_value"), given.get("max_value")
        if low is None and high is None:
            return None
        return Bounds(low, high, bool(given.get("strict_min")), bool(given.get("strict_max")))
    if name == "expect_table_row_count_to_equal":
        return Bounds(given["value"], given["value"])
    if name == Own.FRESH:
        return Bounds(None, FreshArguments.model_validate(given).within.total_seconds(), strict_high=True)
    if name == Own.OFFSETS:
        return Bounds(None, OffsetsArguments.model_validate(given).max_missing)
    return None


def bounds_from(history: HistoricalBounds, values: Sequence[float]) -> Bounds | None:
    """Return the bounds that earlier values give; None while there are too few.

    They lie around the median: an outlier among the values moves it no further than to its neighbour, so a bad day that
    was published does not make the next one acceptable. What is no number says nothing.
    """
    values = [value for value in values if not isnan(value)]
    if len(values) < history.at_least:
        return None
    middle = median(values)
    spread = _NORMAL * median(abs(value - middle) for value in values)
    half = max(history.deviations * spread, history.share * abs(middle))
    return Bounds(middle - half, middle + half)


def number(value: float) -> str:
    """Return a number for people: whole ones whole, others with six digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
