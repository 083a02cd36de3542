"""A fixed part and a part per record, fitted to what was measured, with an interval by resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

_ROUNDS = 25
_HUBER = 1.345
"""Residuals beyond so many standard deviations count less: 95 % of the efficiency where there are no outliers."""
_NORMAL = 1.4826
"""From the median of absolute residuals to the standard deviation."""
_RESAMPLES = 300
_MOST = 400
"""Samples that are resampled, evenly spread over all: more would narrow an interval that nobody reads to a percent."""


@dataclass(frozen=True)
class LinearFit:
    """`value = fixed * count + each * amount`; neither part is negative."""

    fixed: float
    each: float

    def at(self, count: float, amount: float) -> float:
        """Return the value."""
        return self.fixed * count + self.each * amount


@dataclass(frozen=True)
class FitSample:
    """One measurement.

    Attributes:
        count: how often the fixed part was paid, such as batches.
        amount: of what the other part is paid for, such as records.
        value: what was measured, such as seconds.
    """

    count: float
    amount: float
    value: float


def fitted(samples: Sequence[FitSample]) -> LinearFit:
    """Return the fit of least squares in which outliers count less, and which keeps the total of all values.

    What the fit of the bulk leaves unexplained, such as a burst that comes once an hour, was paid all the same: it is
    added to the part per record, so that a plan for more records has more of it.

    Args:
        samples: at least one with an amount.
    """
    columns = np.array([(sample.count, sample.amount, sample.value) for sample in samples], dtype=np.float64)
    return _fitted(columns)


def fitted_interval(
    samples: Sequence[FitSample], outcome: Callable[[LinearFit], float], *, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of what follows from a fit; the same samples give the same interval.

    Args:
        samples: as of `fitted`.
        outcome: of one fit.
        confidence: of the interval.
        seed: of the resamples.
    """
    columns = np.array([(sample.count, sample.amount, sample.value) for sample in samples], dtype=np.float64)
    thinned = columns[np.linspace(0, len(columns) - 1, min(len(columns), _MOST)).astype(int)]
    columns = thinned if thinned[:, 1].any() else columns  # the few with an amount may lie between
    draw = np.random.default_rng(seed)
    chosen = (columns[draw.integers(0, len(columns), len(columns))] for _ in range(_RESAMPLES))
    outcomes = [outcome(_fitted(each)) for each in chosen if each[:, 1].any()]
    outside = 50 * (1 - confidence)
    low, high = np.percentile(outcomes, (outside, 100 - outside))
    return float(low), float(high)


def _fitted(columns: Numbers) -> LinearFit:
    scale = columns[:, :2].mean(axis=0)
    scale[scale == 0] = 1.0
    parts, values = columns[:, :2] / scale, columns[:, 2]
    weights = np.ones(len(values))
    found = _not_negative(parts, values, weights)
    for _ in range(_ROUNDS):
        residuals = np.abs(values - parts @ found)
        width = _HUBER * _NORMAL * float(np.median(residuals))
        if width <= 0:
            break
        weights = np.minimum(1.0, width / np.maximum(residuals, width))
        before, found = found, _not_negative(parts, values, weights)
        if np.allclose(before, found, rtol=1e-9):
            break
    fixed, each = (found / scale).tolist()
    return _with_total(LinearFit(fixed, each), columns)


def _not_negative(parts: Numbers, values: Numbers, weights: Numbers) -> Numbers:
    """Return the weighted least squares of two parts, or of the better single one where one would be negative."""
    root = np.sqrt(weights)
    found, *_ = np.linalg.lstsq(parts * root[:, None], values * root, rcond=None)
    if (found >= 0).all():
        return np.asarray(found, dtype=np.float64)
    best, least = np.zeros(2), np.inf
    for column in (0, 1):
        one = parts[:, column]
        square = float((weights * one * one).sum())
        alone = np.zeros(2)
        alone[column] = max(0.0, float((weights * one * values).sum()) / square) if square else 0.0
        error = float((weights * (values - parts @ alone) ** 2).sum())
        if error < least:
            best, least = alone, error
    return best


def _with_total(fit: LinearFit, columns: Numbers) -> LinearFit:
    count, amount, total = columns.sum(axis=0).tolist()
    found = fit.at(count, amount)
    if total >= found:
        return LinearFit(fit.fixed, fit.each + (total - found) / amount)
    return LinearFit(fit.fixed * total / found, fit.each * total / found)
