"""Pictures of what an expectation found from interval to interval: shapes in plain numbers, which a template draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.quality.intervals import ExpectationResult, IntervalCheckResult
from sluice.quality.measured import number

WIDTH, HEIGHT = 640, 132
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 10, 10
_TIME = "%Y-%m-%d %H:%M"


@dataclass(frozen=True)
class Dot:
    """One interval's value: its position in the chart, and its text."""

    x: float
    y: float
    fails: bool
    words: str


@dataclass(frozen=True)
class Picture:
    """One expectation over time.

    Attributes:
        line: the values as an SVG path; it is broken where an interval has none.
        bands: the bounds as SVG paths, closed; one for each run of intervals that have both.
        edges: bounds on one side only, as SVG paths.
        dots: the values that do not hold, and the last one.
        top: the greatest number in the picture.
        bottom: the least.
        first: when the picture begins.
        last: when it ends.
        summary: how many intervals hold, in words.
    """

    line: str
    bands: tuple[str, ...]
    edges: tuple[str, ...]
    dots: tuple[Dot, ...]
    top: str
    bottom: str
    first: str
    last: str
    summary: str


def picture(results: Sequence[IntervalCheckResult]) -> Picture | None:
    """Return the chart of results in the order of time; None if fewer than two intervals have a number."""
    values = [each.value for each in results if each.value is not None]
    if len(values) <= 1:
        return None
    bounds = [bound for each in results for bound in (each.low, each.high) if bound is not None]
    # Bounds far away would press the values into a line; then only the values set the scale.
    near = [bound for bound in bounds if _span(values) == 0 or abs(bound - values[0]) <= 4 * _span(values)]
    canvas = _Canvas(results, min([*values, *near]), max([*values, *near]))
    return Picture(
        line=canvas.line([each.value for each in results]),
        bands=canvas.bands(results),
        edges=tuple(filter(None, (canvas.line(_alone(results, side)) for side in ("low", "high")))),
        dots=tuple(canvas.dots(results)),
        top=number(canvas.top),
        bottom=number(canvas.bottom),
        first=f"{results[0].start:{_TIME}}",
        last=f"{results[-1].start:{_TIME}}",
        summary=summary(results),
    )


def summary(results: Sequence[IntervalCheckResult]) -> str:
    """Return how many intervals hold, in words."""
    counted = Counter(each.verdict for each in results)
    parts = [f"{count:,} {_said(verdict, count)}" for verdict in ExpectationResult if (count := counted[verdict])]
    return f"{len(results):,} intervals: {', '.join(parts)}" if results else "no interval was judged yet"


def _said(verdict: ExpectationResult, count: int) -> str:
    many = {ExpectationResult.HOLDS: "hold", ExpectationResult.FAILS: "do not hold"}
    return str(verdict) if count == 1 else many.get(verdict, str(verdict))


def _alone(results: Sequence[IntervalCheckResult], side: str) -> list[float | None]:
    """Return the bounds on one side, of intervals that have none on the other."""
    return [getattr(each, side) if None in (each.low, each.high) else None for each in results]


def _span(values: Sequence[float]) -> float:
    return max(values) - min(values)


@dataclass(frozen=True)
class _Canvas:
    results: Sequence[IntervalCheckResult]
    bottom: float
    top: float

    def line(self, values: Sequence[float | None]) -> str:
        parts, pen_is_down = [], False
        for place, value in enumerate(values):
            if value is not None:
                parts.append(f"{'L' if pen_is_down else 'M'}{self._x(place):.1f} {self._y(value):.1f}")
            pen_is_down = value is not None
        return " ".join(parts)

    def bands(self, results: Sequence[IntervalCheckResult]) -> tuple[str, ...]:
        """Return a closed path around the bounds of each run of intervals that have both."""
        runs: list[list[tuple[int, float, float]]] = [[]]
        for place, each in enumerate(results):
            if each.low is None or each.high is None:
                runs.append([])
            else:
                runs[-1].append((place, each.low, each.high))
        return tuple(self._outline(run) for run in runs if run)

    def dots(self, results: Sequence[IntervalCheckResult]) -> list[Dot]:
        dots = []
        last = max(place for place, each in enumerate(results) if each.value is not None)
        for place, each in enumerate(results):
            fails = each.verdict is ExpectationResult.FAILS
            if each.value is not None and (fails or place == last):
                words = f"{each.start:{_TIME}}: {each.checked.observed}"
                dots.append(Dot(round(self._x(place), 1), round(self._y(each.value), 1), fails, words))
        return dots

    def _outline(self, run: Sequence[tuple[int, float, float]]) -> str:
        half = 0.5 * (WIDTH - _LEFT - _RIGHT) / max(len(self.results) - 1, 1)
        upper = [self._step(place, high, half) for place, _, high in run]
        lower = [self._step(place, low, -half) for place, low, _ in reversed(run)]
        return f"M{' L'.join([*upper, *lower])} Z"

    def _step(self, place: int, value: float, half: float) -> str:
        x, y = self._x(place), self._y(value)
        return f"{x - half:.1f} {y:.1f} L{x + half:.1f} {y:.1f}"

    def _x(self, place: int) -> float:
        return _LEFT + place * (WIDTH - _LEFT - _RIGHT) / max(len(self.results) - 1, 1)

    def _y(self, value: float) -> float:
        if self.top == self.bottom:
            return HEIGHT / 2
        share = (min(max(value, self.bottom), self.top) - self.bottom) / (self.top - self.bottom)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)
