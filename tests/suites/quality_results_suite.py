"""What every record of results does. Subclasses give `results`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sluice.intervals.entries import Content
from sluice.quality.intervals import IntervalCheckResult, judge_interval
from sluice.quality.measured import Measured
from sluice.quality.results import QualityResults, StoredResult, known_values
from sluice.specs.expectations.model import Expectation, Subject
from tests.twins.clock import START

HOUR = timedelta(hours=1)
VOLUME = Expectation(
    expect="expect_table_row_count_to_be_between", kwargs={"min_value": 5}, on=(Subject.INTERVAL,), description="why"
)
NULLS = Expectation(expect="expect_column_values_to_not_be_null", kwargs={"column": "n"}, on=(Subject.INTERVAL,))
KEYS = (VOLUME.key, NULLS.key)


def volume(hours: int, rows: int) -> IntervalCheckResult:
    return judge_interval(VOLUME, START + hours * HOUR, HOUR, Measured(rows, float(rows)), {})


def nulls(hours: int, unexpected: int) -> IntervalCheckResult:
    found = Measured(9, float(unexpected), unexpected, sample=("a person",))
    return judge_interval(NULLS, START + hours * HOUR, HOUR, found, {})


def kept(checked: IntervalCheckResult, rows: int = 7) -> StoredResult:
    return StoredResult(checked, Content(rows, str(rows * 2**60)), "check", START)


class QualityResultsSuite:
    def test_at_first_nothing_is_on_record(self, results: QualityResults) -> None:
        assert list(results.of("sales", KEYS, START, START + 99 * HOUR)) == []

    def test_what_is_kept_comes_back_in_the_order_of_time(self, results: QualityResults) -> None:
        one, two, three = kept(volume(0, 7)), kept(nulls(1, 0)), kept(volume(2, 3))
        results.keep("sales", [three, one, two])
        assert list(results.of("sales", KEYS, START, START + 3 * HOUR)) == [one, two, three]

    def test_only_what_was_asked_for_comes_back(self, results: QualityResults) -> None:
        results.keep("sales", [kept(volume(hours, 7)) for hours in range(4)])
        results.keep("sales", [kept(nulls(1, 0))])
        results.keep("returns", [kept(volume(1, 9))])
        found = results.of("sales", [VOLUME.key], START + HOUR, START + 3 * HOUR)
        assert [each.checked.start for each in found] == [START + HOUR, START + 2 * HOUR]
        assert list(results.of("sales", [], START, START + 9 * HOUR)) == []

    def test_a_later_result_of_an_interval_takes_the_place_of_the_earlier_one(self, results: QualityResults) -> None:
        results.keep("sales", [kept(volume(0, 7)), kept(volume(1, 7))])
        again = replace(kept(volume(0, 3), rows=3), by="bf-1", at=START + HOUR)
        results.keep("sales", [again])
        assert list(results.of("sales", KEYS, START, START + HOUR)) == [again]
        assert len(results.of("sales", KEYS, START, START + 2 * HOUR)) == 2

    def test_keeping_the_same_again_changes_nothing(self, results: QualityResults) -> None:
        found = [kept(volume(hours, 7)) for hours in range(3)]
        for _ in range(2):
            results.keep("sales", found)
        assert list(results.of("sales", KEYS, START, START + 9 * HOUR)) == found

    def test_values_of_the_data_are_not_kept(self, results: QualityResults) -> None:
        results.keep("sales", [kept(nulls(0, 2))])
        (found,) = results.of("sales", KEYS, START, START + HOUR)
        assert found.checked.checked.sample == ()
        assert found.checked.checked.unexpected == 2

    def test_more_than_a_statement_holds_is_kept(self, results: QualityResults) -> None:
        found = [kept(volume(hours, hours)) for hours in range(1_700)]
        results.keep("sales", found)
        assert list(results.of("sales", KEYS, START, START + 2_000 * HOUR)) == found

    def test_only_values_of_what_an_interval_still_holds_are_known(self, results: QualityResults) -> None:
        results.keep("sales", [kept(volume(0, 7)), kept(volume(1, 8)), kept(nulls(1, 1))])
        contents = {START: Content(7, str(7 * 2**60)), START + HOUR: Content(8, "another")}
        known = known_values(results.of("sales", KEYS, START, START + 9 * HOUR), contents)
        assert known == {VOLUME.key: {START: 7.0}}
