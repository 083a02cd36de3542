"""Expectations that hold for each interval: one result for each, from what was measured there and in earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.quality.check_result import CheckResult
from sluice.quality.measured import Bounds, Measured, bounds_from, bounds_of, number
from sluice.specs.expectations.model import Expectation, HistoricalBounds
from sluice.specs.expectations.set_level import CountedArguments, Own
from sluice.specs.model.duration import format_duration

Values = Mapping[datetime, float]
"""What was measured of one expectation, by the interval's start (UTC)."""


class ExpectationResult(StrEnum):
    """The result of an expectation in an interval."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNJUDGED = "not judged"
    """It cannot be judged: there is too little history, or there are no rows."""
    ERROR = "not evaluated"


@dataclass(frozen=True)
class IntervalCheckResult:
    """The result of one expectation in one interval.

    Attributes:
        start: of the interval (UTC).
        key: of the expectation.
        verdict: in a word.
        checked: the same, in the gate's terms; what is not judged stops nothing.
        value: what was measured, as one number; None where there is none.
        low: the least that it may be, by spec and history together; None is no bound.
        high: the greatest.
    """

    start: datetime
    key: str
    verdict: ExpectationResult
    checked: CheckResult
    value: float | None = None
    low: float | None = None
    high: float | None = None

    def as_declared(self, expectation: Expectation) -> IntervalCheckResult:
        """Return it with the severity and the description of its expectation, which are no part of the key."""
        own = replace(self.checked, severity=expectation.severity, description=expectation.description)
        return replace(self, checked=own)

    def __str__(self) -> str:
        """Return it as a sentence without an end."""
        return f"interval {self.start:%Y-%m-%dT%H:%MZ}: {self.checked}"


def window(history: HistoricalBounds, start: datetime, length: timedelta) -> list[datetime]:
    """Return the starts of the intervals that give an interval its bounds, newest first."""
    every = history.every or length
    return [start - step * every for step in range(1, history.intervals + 1)]


def judge_interval(
    expectation: Expectation, start: datetime, length: timedelta, measured: Measured | str, earlier: Values
) -> IntervalCheckResult:
    """Judge one expectation in one interval.

    Args:
        expectation: one `on: [interval]`.
        start: of the interval (UTC).
        length: of an interval.
        measured: what was measured there, or why nothing could be.
        earlier: what was measured of it in other intervals; those of its window are taken.
    """
    if isinstance(measured, str):
        return IntervalCheckResult(
            start, expectation.key, ExpectationResult.ERROR, CheckResult.failed(expectation, measured)
        )
    bounds, remarks = bounds_of(expectation), []
    values: list[float] = []
    if expectation.history is not None:
        values = [earlier[at] for at in window(expectation.history, start, length) if at in earlier]
        drawn = bounds_from(expectation.history, values)
        remarks.append(_of_window(expectation.history, length, values, drawn))
        if drawn is None and bounds is None:
            return _unjudged(expectation, start, measured, remarks)
        bounds = _both(bounds, drawn)
    if bounds is not None and measured.value is None:
        return _unjudged(expectation, start, measured, ["there is nothing of which it could be said", *remarks])
    holds = _holds(expectation, measured, bounds)
    checked = CheckResult.of(
        expectation,
        success=holds,
        unexpected=measured.unexpected,
        observed="; ".join(filter(None, (_observed(expectation, measured, bounds), measured.note, *remarks))),
        sample=() if holds else measured.sample,
    )
    verdict = ExpectationResult.HOLDS if holds else ExpectationResult.FAILS
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    return IntervalCheckResult(start, expectation.key, verdict, checked, measured.value, low, high)


def judge_intervals(
    expectations: Sequence[Expectation],
    found: Mapping[datetime, Sequence[Measured | str]],
    length: timedelta,
    earlier: Mapping[str, Values],
) -> tuple[IntervalCheckResult, ...]:
    """Judge all expectations in all intervals, in the order of time, then of the suite.

    Args:
        expectations: those `on: [interval]`.
        found: for each interval, what was measured of each expectation, in their order.
        length: of an interval.
        earlier: what is known of other intervals, by the expectation's key. What is found here is newer.
    """
    results = []
    for position, expectation in enumerate(expectations):
        own = {start: m.value for start, measured in found.items() if isinstance(m := measured[position], Measured)}
        known = {**earlier.get(expectation.key, {}), **{s: value for s, value in own.items() if value is not None}}
        results += [
            (start, position, judge_interval(expectation, start, length, measured[position], known))
            for start, measured in found.items()
        ]
    return tuple(result for _, _, result in sorted(results, key=lambda each: each[:2]))


def _unjudged(expectation: Expectation, start: datetime, measured: Measured, remarks: list[str]) -> IntervalCheckResult:
    words = f"not judged: {'; '.join(remarks)}"
    checked = CheckResult.of(expectation, success=True, unexpected=measured.unexpected, observed=words)
    return IntervalCheckResult(start, expectation.key, ExpectationResult.UNJUDGED, checked, measured.value)


def _holds(expectation: Expectation, measured: Measured, bounds: Bounds | None) -> bool:
    if bounds is not None and not (measured.value is not None and bounds.admits(measured.value)):
        return False
    if not measured.unexpected:
        return True
    mostly = expectation.kwargs.get("mostly", 1)
    share = (measured.rows - measured.unexpected) / measured.rows if measured.rows else 0.0
    return isinstance(mostly, int | float) and mostly < 1 and share >= mostly


def _observed(expectation: Expectation, measured: Measured, bounds: Bounds | None) -> str:
    if bounds is not None and measured.value is not None:
        unit = " s from the last record to the end" if expectation.expect == Own.FRESH else ""
        return f"{number(measured.value)}{unit}; it must be {bounds}"
    if expectation.expect == Own.COUNTED:
        column = CountedArguments.model_validate(expectation.kwargs).column
        return f"{column} adds up to {measured.rows:,}"
    return f"{measured.unexpected or 0:,} of {measured.rows:,} are unexpected"


def _of_window(history: HistoricalBounds, length: timedelta, values: Sequence[float], drawn: Bounds | None) -> str:
    apart = format_duration(history.every or length)
    taken = f"{len(values)} of the {history.intervals} intervals before it, {apart} apart, are known"
    if drawn is None:
        return f"{taken}, and {history.at_least} are needed to draw bounds from"
    return f"by history {drawn}: {taken}, from {number(min(values))} to {number(max(values))}"


def _both(declared: Bounds | None, drawn: Bounds | None) -> Bounds | None:
    """Return the narrower of two on each side."""
    if declared is None or drawn is None:
        return declared or drawn
    low_is_drawn = declared.low is None or (drawn.low is not None and drawn.low > declared.low)
    high_is_drawn = declared.high is None or (drawn.high is not None and drawn.high < declared.high)
    return Bounds(
        drawn.low if low_is_drawn else declared.low,
        drawn.high if high_is_drawn else declared.high,
        declared.strict_low and not low_is_drawn,
        declared.strict_high and not high_is_drawn,
    )
