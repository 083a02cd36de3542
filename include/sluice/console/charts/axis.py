"""Axes: which values they hold, and where their ticks are: at steps of 1, 2 or 5, whatever the power of ten."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import floor, isfinite, log10

from sluice.console.charts.numbers import EXPONENT_BELOW, EXPONENT_FROM, MAGNITUDES, NO_BREAK, power_text

PARTS = 4
"""Steps that an axis has about: five or six ticks can be read at any width."""
_NOTHING = 1e-300
"""Closer together than this, values are one: their differences have no digits left."""
_CLOSE = 1e-4
"""Values that differ by a smaller share of themselves are drawn from zero on, as one: labels have no more digits."""


@dataclass(frozen=True)
class Tick:
    """A tick of an axis.

    Attributes:
        at: how far along the axis, in percent.
        text: what stands there.
    """

    at: float
    text: str


@dataclass(frozen=True)
class NumberAxis:
    """An axis of numbers.

    Attributes:
        low: the least number on it.
        high: the greatest; more than `low`.
        ticks: from the least to the greatest.
    """

    low: float
    high: float
    ticks: Sequence[Tick]

    def place(self, value: float) -> float:
        """Return how far along the axis a number is, in percent; one beyond it is at its end."""
        return place_between(value, self.low, self.high)


def place_between(value: float, low: float, high: float) -> float:
    """Return where a number lies between two others, in percent from 0 to 100.

    Halves are subtracted: the difference of two finite numbers may be none.
    """
    return min(max(100 * ((value / 2 - low / 2) / (high / 2 - low / 2)), 0.0), 100.0)


def number_axis(values: Iterable[float], *, from_zero: bool = False, parts: int = PARTS) -> NumberAxis:
    """Return the axis for some finite numbers, which begins and ends at a tick.

    Args:
        values: that it has to hold; at least one.
        from_zero: whether it holds zero in any case. Otherwise it does unless the values are far from it, compared
            with how much they differ.
        parts: about how many steps it has.
    """
    known = list(values)
    low, high = min(known), max(known)
    if from_zero or not _far_from_zero(low, high):
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _NOTHING:
        low, high = 0.0, 1.0
    whole = all(isinstance(value, int) for value in known)
    step = step_of(high / parts - low / parts, least=Decimal(1) if whole else None)
    return _between(low, high, step)


def step_of(wanted: float, *, least: Decimal | None = None) -> Decimal:
    """Return the least of 1, 2, 5 and their multiples by powers of ten that is no less than a positive number."""
    power = floor(log10(wanted))
    step = next(
        step for factor in (1, 2, 5, 10) if (step := Decimal(factor).scaleb(power)) >= Decimal(wanted * (1 - 1e-9))
    )
    return step if least is None else max(step, least)


def steps_between(low: float, high: float, step: Decimal) -> list[Decimal]:
    """Return the multiples of a step from the last that is no more than `low` to the first that is no less."""
    # As they are written: 0.3 is three steps of 0.1, and its binary value is a little less.
    first = int((Decimal(str(low)) / step).to_integral_value(ROUND_FLOOR))
    last = int((Decimal(str(high)) / step).to_integral_value(ROUND_CEILING))
    return [step * number for number in range(first, last + 1)]


def _between(low: float, high: float, step: Decimal) -> NumberAxis:
    steps = steps_between(low, high, step)
    ends = [float(end) for end in (steps[0], steps[-1])]
    # Beyond the greatest number that there is no tick can be: the axis ends at that number.
    low, high = (end if isfinite(end) else (1 if end > 0 else -1) * sys.float_info.max for end in ends)
    shown = [value for value in steps if low <= float(value) <= high]
    texts = tick_texts(shown, step)
    ticks = [Tick(place_between(float(value), low, high), text) for value, text in zip(shown, texts, strict=True)]
    return NumberAxis(low, high, ticks)


def tick_texts(values: Sequence[Decimal], step: Decimal) -> list[str]:
    """Return the texts of ticks: as many digits as their step needs, and one letter for all."""
    greatest = max(abs(value) for value in values)
    if greatest >= EXPONENT_FROM or greatest < EXPONENT_BELOW:
        return [power_text(float(value), 6) if value else "0" for value in values]
    scale, letter = next(
        ((Decimal(least), f"{NO_BREAK}{sign}") for least, sign in MAGNITUDES if greatest >= least), _ONE
    )
    behind = len(f"{(step / scale).normalize():f}".partition(".")[2])
    return [f"{value / scale:,.{behind}f}{letter}" if value else "0" for value in values]


_ONE = (Decimal(1), "")


def _far_from_zero(low: float, high: float) -> bool:
    """Whether values lie so far from zero, all on one side, that an axis from zero would press them together."""
    if low <= 0 <= high:
        return False
    near, far = sorted((abs(low), abs(high)))
    return near > far / 2 and far - near > _CLOSE * far
