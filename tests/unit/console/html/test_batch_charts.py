"""The charts of a stream's batches and of an expectation's intervals: which there are, and of what."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sluice.console.html.batch_charts import charts_of
from sluice.console.pages.quality import expectation_chart
from sluice.quality.check_result import CheckResult
from sluice.quality.intervals import ExpectationResult, IntervalCheckResult
from sluice.specs.expectations.model import Severity
from sluice.streams.health.batch_log import BatchFigures
from tests.twins.observations import moment
from tests.unit.reports.test_history_pictures import over


def test_charts_of_a_stream_are_those_for_which_there_is_something() -> None:
    phases = {"addBatch": 100.0, "triggerExecution": 150.0}
    quiet = [BatchFigures(n, 1, moment(n), 5, 1.0, 2.0, phases) for n in range(3)]
    assert [chart.title for chart in charts_of(quiet)] == ["Records per second", "Duration of a batch by phase"]
    assert charts_of([]) == []
    assert charts_of(quiet[:1]) == []
    full = [BatchFigures(n, 1, moment(n), 5, 1.0, 2.0, phases, moment(n - 60), 7, 8, 1, 9) for n in range(3)]
    assert len(charts_of(full)) == 6
    refusing = [replace(each, quarantined={"malformed": each.number}) for each in full]
    assert charts_of(refusing)[-1].title == "Records quarantined"
    assert len(charts_of([replace(each, quarantined={}) for each in full])) == 6


def test_a_line_does_not_lead_over_an_hour_that_nobody_knows() -> None:
    found = [BatchFigures(n, 1, moment(at), 5, 1.0, 2.0) for n, at in enumerate((0, 5, 3605, 3610))]
    rates = charts_of(found)[0]
    assert [shape.path.count("M") for shape in rates.shapes] == [2, 2]


def test_charts_of_a_stream_begin_at_zero() -> None:
    near = [BatchFigures(n, 1, moment(n), 5, 1000.0 + n, 1000.0) for n in range(3)]
    assert charts_of(near)[0].y_ticks[0].text == "0"


def test_an_expectation_shows_its_limits_and_which_intervals_fail() -> None:
    results = over(100, 100, 100, 50, 100)
    chart = expectation_chart("mean: delay", results)
    assert chart is not None
    assert [shape.look for shape in chart.shapes][-1] == "line"
    failing = [n for n, each in enumerate(results) if each.verdict is ExpectationResult.FAILS]
    assert [n for n, mark in enumerate(chart.marks) if any(dot.fails for dot in mark.dots)] == failing
    assert failing
    assert all("does not hold" in chart.marks[n].words for n in failing)


def test_two_limits_make_a_band_and_one_an_edge() -> None:
    def judged(n: int, low: float | None, high: float | None) -> IntervalCheckResult:
        checked = CheckResult("mean", "delay", Severity.CRITICAL, success=True, observed="5")
        return IntervalCheckResult(
            moment(0) + timedelta(hours=n), "k", ExpectationResult.HOLDS, checked, 5.0 + n, low, high
        )

    looks = []
    for low, high in ((4.0, 8.0), (4.0, None), (None, 8.0), (None, None)):
        chart = expectation_chart("mean", [judged(n, low, high) for n in range(3)])
        assert chart is not None
        looks.append([shape.look for shape in chart.shapes])
    assert looks == [["band", "line"], ["edge", "line"], ["edge", "line"], ["line"]]


def test_of_one_number_there_is_no_chart() -> None:
    assert expectation_chart("mean", over(1, None)) is None
    assert expectation_chart("mean", ()) is None
