"""Values drawn from distributions.

Each field draws from a generator of its own, so a field that is added or changed leaves all others as they were. Only
`Random.random` is asked: its numbers are the same in every version of Python.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from random import Random
from statistics import NormalDist
from typing import Any

from sluice.specs.feeds.distribution import Distribution

Draw = Callable[[Random, int, Mapping[str, Any]], Any]
"""Draws a value for the event with a number, whose times and earlier fields are known."""
_LEAST_CHANCE = 1e-12
_TRIES_PER_VALUE = 20


def generator(seed: int, purpose: str) -> Random:
    """Return the generator of random numbers for one purpose."""
    return Random(f"{seed}:{purpose}")  # noqa: S311 - reproducible, not secret


def exponential(random: Random, mean: float) -> float:
    """Draw a number above 0 with this mean."""
    return -math.log(1.0 - random.random()) * mean


class FieldDraw:
    """Draws the values of one field, event by event."""

    def __init__(self, name: str, drawn: Distribution, seed: int) -> None:
        self._name, self._drawn, self._seed = name, drawn, seed
        self._random = generator(seed, f"field {name}")
        self._draw = _draw_of(drawn)
        self._known: dict[Any, Any] = {}

    def next(self, number: int, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of any type that JSON has
        """Return the value of the next event; None: the event lacks it.

        Args:
            number: the event's, counted from 1.
            known: its times as they are written, and its fields so far.
        """
        absent = self._random.random() < self._drawn.absent
        if self._drawn.per is None:
            value = self._value(self._random, number, known)
        else:
            of = known.get(self._drawn.per)
            if of not in self._known:
                self._known[of] = self._value(generator(self._seed, f"field {self._name} of {of!r}"), number, known)
            value = self._known[of]
        return None if absent else value

    def _value(self, random: Random, number: int, known: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if self._drawn.many is None:
            return self._draw(random, number, known)
        least, most = self._drawn.many
        wanted = least + int(random.random() * (most - least + 1))
        found: dict[Any, None] = {}
        for _ in range(wanted * _TRIES_PER_VALUE):
            if len(found) == wanted:
                break
            found[self._draw(random, number, known)] = None
        return list(found)


def _draw_of(drawn: Distribution) -> Draw:
    match drawn.kind:
        case "sequence":
            return lambda _random, number, _known: f"{drawn.sequence}{number}" if drawn.sequence else number
        case "constant":
            return lambda _random, _number, _known: drawn.constant
        case "text":
            return lambda _random, _number, known: (drawn.text or "").format_map(known)
        case "choice":
            return _choice(drawn.choice or ())
        case "zipf":
            weights = [1 / n**drawn.exponent for n in range(1, (drawn.zipf or 1) + 1)]
            return _weighted([f"{drawn.prefix}{n}" for n in range(1, len(weights) + 1)], weights)
    return _number(drawn)


def _choice(values: Sequence[Any] | Mapping[str, float]) -> Draw:
    if isinstance(values, Mapping):
        return _weighted(list(values), list(values.values()))
    return lambda random, _number, _known: values[int(random.random() * len(values))]


def _weighted(values: Sequence[Any], weights: Sequence[float]) -> Draw:
    sums = list(accumulate(weights))
    last = len(values) - 1  # rounding may put a draw at the very end
    return lambda random, _number, _known: values[min(bisect(sums, random.random() * sums[-1]), last)]


def _number(drawn: Distribution) -> Draw:
    least = -math.inf if drawn.least is None else drawn.least
    most = math.inf if drawn.most is None else drawn.most

    def draw(random: Random, _number: int, _known: Mapping[str, Any]) -> float | int:
        number = round(min(max(_raw_number(drawn, random), least), most), drawn.digits)
        return number if drawn.digits else int(number)

    return draw


def _raw_number(drawn: Distribution, random: Random) -> float:
    if drawn.uniform is not None:
        low, high = drawn.uniform
        top = high + 1 if drawn.digits == 0 else high  # of whole numbers the last is as likely as any
        number = low + random.random() * (top - low)
        return math.floor(number) if drawn.digits == 0 else number
    if drawn.exponential is not None:
        return exponential(random, drawn.exponential)
    chance = min(max(random.random(), _LEAST_CHANCE), 1 - _LEAST_CHANCE)
    if drawn.normal is not None:
        mean, deviation = drawn.normal
        return mean + deviation * NormalDist().inv_cdf(chance)
    median, spread = drawn.lognormal or (1.0, 0.0)
    return median * math.exp(spread * NormalDist().inv_cdf(chance))
