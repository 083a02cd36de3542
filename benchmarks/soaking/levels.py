"""Whether what was sampled stays level: medians over the second and the last quarter of a run, or of a life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

Samples = Sequence[tuple[float, float]]
"""Seconds since the beginning, and the value, in their order."""

_FEWEST = 8
"""Samples that a life needs to be judged: two in each quarter."""


def growth(samples: Samples) -> float | None:
    """Return the median of the last quarter of the time ÷ that of the second; None: a quarter has no sample.

    The first quarter is left out: caches fill, and what is kept for a time has not been there for so long.
    """
    if not samples:
        return None
    begin, end = samples[0][0], samples[-1][0]
    quarter = (end - begin) / 4
    second = [value for at, value in samples if begin + quarter <= at < begin + 2 * quarter]
    last = [value for at, value in samples if at >= begin + 3 * quarter]
    if not second or not last:
        return None
    before = median(second)
    return median(last) / before if before else float(bool(median(last))) + 1.0


def growth_of_lives(lives: Mapping[int, Samples]) -> float | None:
    """Return the median growth within the lives of drivers; those with few samples are left out.

    Args:
        lives: samples by generation; what they measure begins again with each.
    """
    grown = [found for life in lives.values() if len(life) >= _FEWEST and (found := growth(life)) is not None]
    return median(grown) if grown else None
