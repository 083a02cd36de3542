"""Expectations about intervals: one result for each, and nothing is judged by what is not known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from sluice.quality.intervals import ExpectationResult, judge_interval, judge_intervals, window
from sluice.quality.measured import Measured
from sluice.specs.expectations.model import Expectation, HistoricalBounds, Severity, Subject

HOUR = timedelta(hours=1)
NOON = datetime(2013, 7, 1, 12, tzinfo=UTC)
ROWS = "expect_table_row_count_to_be_between"


def about(
    name: str, history: HistoricalBounds | None = None, severity: Severity = Severity.CRITICAL, **kwargs: JsonValue
) -> Expectation:
    return Expectation(expect=name, kwargs=kwargs, on=(Subject.INTERVAL,), history=history, severity=severity)


def test_a_number_within_its_bounds_holds_and_says_what_was_measured() -> None:
    found = judge_interval(about(ROWS, min_value=3, max_value=9), NOON, HOUR, Measured(rows=7, value=7.0), {})
    assert (found.verdict, found.value, found.low, found.high) == (ExpectationResult.HOLDS, 7.0, 3, 9)
    assert found.checked.observed == "7; it must be at least 3 and at most 9"
    assert not found.checked.stops


def test_a_number_outside_its_bounds_stops() -> None:
    found = judge_interval(about(ROWS, min_value=3), NOON, HOUR, Measured(rows=2, value=2.0), {})
    assert found.verdict is ExpectationResult.FAILS
    assert found.checked.stops
    assert str(found) == (
        "interval 2013-07-01T12:00Z: expect_table_row_count_to_be_between (table) does not hold: "
        "2; it must be at least 3"
    )


def test_what_could_not_be_measured_stops_however_mild_it_is() -> None:
    mild = about(ROWS, severity=Severity.INFO, min_value=3)
    found = judge_interval(mild, NOON, HOUR, "AnalysisException: no such column", {})
    assert found.verdict is ExpectationResult.ERROR
    assert found.checked.stops


@pytest.mark.parametrize(
    ("mostly", "unexpected", "verdict"),
    [
        (None, 0, ExpectationResult.HOLDS),
        (None, 1, ExpectationResult.FAILS),
        (0.9, 10, ExpectationResult.HOLDS),
        (0.9, 11, ExpectationResult.FAILS),
    ],
)
def test_rows_may_be_unexpected_up_to_the_share_that_is_declared(
    mostly: float | None, unexpected: int, verdict: ExpectationResult
) -> None:
    kwargs: dict[str, JsonValue] = {"column": "carrier"} | ({} if mostly is None else {"mostly": mostly})
    found = judge_interval(
        about("expect_column_values_to_not_be_null", **kwargs),
        NOON,
        HOUR,
        Measured(rows=100, value=float(unexpected), unexpected=unexpected, sample=("x",)),
        {},
    )
    assert found.verdict is verdict
    assert found.checked.sample == (() if verdict is ExpectationResult.HOLDS else ("x",))


def test_without_rows_there_is_no_mean_and_nothing_is_judged() -> None:
    mean = about("expect_column_mean_to_be_between", column="delay", min_value=0)
    found = judge_interval(mean, NOON, HOUR, Measured(rows=0), {})
    assert found.verdict is ExpectationResult.UNJUDGED
    assert not found.checked.stops
    assert "not judged" in found.checked.observed


def test_offsets_that_are_there_twice_fail_however_many_may_be_missing() -> None:
    complete = about("expect_interval_offsets_to_be_complete", max_missing=5)
    held = judge_interval(complete, NOON, HOUR, Measured(rows=9, value=5.0, unexpected=0), {})
    assert held.verdict is ExpectationResult.HOLDS
    twice = judge_interval(complete, NOON, HOUR, Measured(rows=9, value=0.0, unexpected=1), {})
    assert twice.verdict is ExpectationResult.FAILS


class TestHistory:
    RULE = HistoricalBounds(intervals=6, at_least=5, share=0.1)

    def test_it_is_not_judged_before_there_is_enough_of_it(self) -> None:
        earlier = {NOON - step * HOUR: 100.0 for step in range(1, 5)}
        found = judge_interval(about(ROWS, self.RULE), NOON, HOUR, Measured(rows=1, value=1.0), earlier)
        assert found.verdict is ExpectationResult.UNJUDGED
        assert found.checked.observed == (
            "not judged: 4 of the 6 intervals before it, 1 hour apart, are known, and 5 are needed to draw bounds from"
        )

    def test_bounds_of_the_spec_hold_even_before(self) -> None:
        found = judge_interval(about(ROWS, self.RULE, min_value=2), NOON, HOUR, Measured(rows=1, value=1.0), {})
        assert found.verdict is ExpectationResult.FAILS

    def test_a_number_unlike_those_before_it_fails_and_the_window_is_stated(self) -> None:
        earlier = {NOON - step * HOUR: 100.0 for step in range(1, 7)}
        found = judge_interval(about(ROWS, self.RULE), NOON, HOUR, Measured(rows=89, value=89.0), earlier)
        assert (found.verdict, found.low, found.high) == (ExpectationResult.FAILS, 90, 110)
        assert found.checked.observed == (
            "89; it must be at least 90 and at most 110; by history at least 90 and at most 110: "
            "6 of the 6 intervals before it, 1 hour apart, are known, from 100 to 100"
        )

    def test_only_intervals_before_it_in_the_window_count(self) -> None:
        outside = {NOON - 7 * HOUR: 1.0, NOON + HOUR: 1.0, NOON: 1.0}
        inside = {NOON - step * HOUR: 100.0 for step in range(1, 6)}
        found = judge_interval(about(ROWS, self.RULE), NOON, HOUR, Measured(rows=95, value=95.0), inside | outside)
        assert found.verdict is ExpectationResult.HOLDS

    def test_a_weekly_rhythm_compares_with_the_same_hour_of_other_weeks(self) -> None:
        rule = HistoricalBounds.model_validate({"intervals": 3, "at_least": 3, "every": "7 days"})
        assert window(rule, NOON, HOUR) == [NOON - timedelta(weeks=weeks) for weeks in (1, 2, 3)]

    def test_the_narrower_bound_of_spec_and_history_counts(self) -> None:
        earlier = {NOON - step * HOUR: 100.0 for step in range(1, 7)}
        rule = about(ROWS, self.RULE, min_value=50, max_value=105, strict_max=True)
        found = judge_interval(rule, NOON, HOUR, Measured(rows=105, value=105.0), earlier)
        assert (found.low, found.high, found.verdict) == (90, 105, ExpectationResult.FAILS)

    @given(st.lists(st.floats(0, 1e6), min_size=12, max_size=30), st.integers(5, 10))
    def test_chunks_do_not_matter_each_interval_is_judged_as_if_alone(self, values: list[float], cut: int) -> None:
        rule = about(ROWS, self.RULE)
        measured = {NOON + n * HOUR: [Measured(rows=1, value=value)] for n, value in enumerate(values)}
        whole = judge_intervals([rule], measured, HOUR, {})
        first = dict(list(measured.items())[:cut])
        rest = dict(list(measured.items())[cut:])
        known = {rule.key: {start: found[0].value for start, found in first.items() if found[0].value is not None}}
        assert whole == judge_intervals([rule], first, HOUR, {}) + judge_intervals([rule], rest, HOUR, known)


def test_results_come_in_the_order_of_time_then_of_the_suite() -> None:
    rules = [about(ROWS, min_value=1), about("expect_column_sum_to_be_between", column="n", min_value=0)]
    measured = {NOON + n * HOUR: [Measured(1, 1.0), Measured(1, 2.0)] for n in (2, 0, 1)}
    found = judge_intervals(rules, measured, HOUR, {})
    assert [(each.start.hour, each.key) for each in found] == [(h, r.key) for h in (12, 13, 14) for r in rules]
