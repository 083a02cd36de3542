"""Pictures of an expectation over time: in the frame, complete, and about what was found."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.quality.gate import judge
from sluice.quality.intervals import IntervalCheckResult, judge_intervals
from sluice.quality.measured import Measured
from sluice.reports.history import HEIGHT, WIDTH, picture, summary
from sluice.reports.quality import MAX_FAILING, quality_page
from sluice.specs.expectations.model import Expectation, HistoricalBounds, Subject
from tests.twins.clock import START
from tests.unit.quality.suites import suite

HOUR = timedelta(hours=1)
STEADY = Expectation(
    expect="expect_column_sum_to_be_between",
    kwargs={"column": "departed"},
    on=(Subject.INTERVAL,),
    history=HistoricalBounds(intervals=5, at_least=3, share=0.1),
    description="<b>why</b>",
)
VALUES = st.none() | st.floats(-1e12, 1e12)


def over(*values: float | None) -> tuple[IntervalCheckResult, ...]:
    found = {START + number * HOUR: [Measured(1, value)] for number, value in enumerate(values)}
    return judge_intervals([STEADY], found, HOUR, {})


def test_two_numbers_make_a_picture_and_one_does_not() -> None:
    assert picture(over(1, None)) is None
    assert picture(over(1, 2)) is not None
    assert picture(()) is None


def test_the_line_is_broken_where_an_interval_has_no_number() -> None:
    drawn = picture(over(1, 2, None, 3, 4))
    assert drawn is not None
    assert (drawn.line.count("M"), drawn.line.count("L")) == (2, 2)


def test_what_fails_is_a_dot_that_says_so_and_the_last_one_is_marked() -> None:
    drawn = picture(over(100, 100, 100, 50, 100))
    assert drawn is not None
    assert [dot.fails for dot in drawn.dots] == [True, False]
    assert f"{START + 3 * HOUR:%Y-%m-%d %H:%M}: 50; it must be at least 90" in drawn.dots[0].words
    assert drawn.summary == "5 intervals: 1 holds, 1 does not hold, 3 not judged"


def test_bounds_are_a_band_where_there_are_some() -> None:
    drawn = picture(over(100, 100, 100, 100, 100))
    assert drawn is not None
    (band,) = drawn.bands
    assert band.startswith("M")
    assert band.endswith("Z")


@given(st.lists(VALUES, max_size=30))
def test_everything_is_within_the_frame(values: list[float | None]) -> None:
    drawn = picture(over(*values))
    if drawn is None:
        assert sum(value is not None for value in values) < 2
        return
    half = WIDTH / 2
    for path in (drawn.line, *drawn.bands, *drawn.edges):
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path):
            assert -half <= float(x) <= WIDTH + half
            assert 0 <= float(y) <= HEIGHT
    assert drawn.line.count("M") + drawn.line.count("L") == sum(value is not None for value in values)


def test_without_results_nothing_was_judged() -> None:
    assert summary(()) == "no interval was judged yet"


class TestPage:
    SUITE = suite().model_copy(update={"expectations": (STEADY,)})

    def page(self, *values: float | None, history: tuple[IntervalCheckResult, ...] | None = None) -> str:
        result = judge(self.SUITE, {}, rows=9, input_records=9, intervals=over(*values))
        shown = () if history is None else [(STEADY, history)]
        return quality_page(result, title="departures", facts={}, history=shown)

    def test_it_shows_the_picture_the_window_and_what_failed(self) -> None:
        html = self.page(100, 100, 100, 50)
        assert "<svg" in html
        assert "3 of the 5 intervals before it, 1 hour apart, are known, from 100 to 100" in html
        assert "1 does not hold" in html
        assert "&lt;b&gt;why&lt;/b&gt;" in html

    def test_the_record_is_shown_where_the_result_is_only_a_part_of_it(self) -> None:
        assert "7 intervals" in self.page(100, history=over(*[100.0] * 7))

    def test_of_many_failures_the_newest_are_named(self) -> None:
        bounded = STEADY.model_copy(update={"history": None, "kwargs": {"column": "departed", "min_value": 0}})
        found = {START + number * HOUR: [Measured(1, -1.0)] for number in range(MAX_FAILING + 5)}
        intervals = judge_intervals([bounded], found, HOUR, {})
        html = quality_page(judge(self.SUITE, {}, rows=9, input_records=9, intervals=intervals), title="t", facts={})
        assert html.count("<time>") == MAX_FAILING
        assert "and 5 earlier ones" in html

    @pytest.mark.parametrize("what", ["://", "<script", "@import", "url("])
    def test_it_needs_nothing_from_elsewhere(self, what: str) -> None:
        assert what not in self.page(100, 100, 100, 50)
