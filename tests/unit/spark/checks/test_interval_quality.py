"""Which results of published intervals are taken from the record, and which are found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Content
from sluice.intervals.ledger import Ledger, LedgerRow, Written
from sluice.quality.intervals import ExpectationResult, IntervalCheckResult
from sluice.quality.measured import Measured
from sluice.spark.checks import interval_quality
from sluice.spark.checks.interval_quality import IntervalQuality
from sluice.spark.tables.output import OutputTable
from sluice.specs.expectations.model import Expectation, Severity, Subject
from sluice.specs.model.outputs import IntervalsOutput
from tests.twins.clock import START
from tests.twins.quality_results import InMemoryQualityResults

HOUR = timedelta(hours=1)
STARTS = [START + number * HOUR for number in range(3)]
OUTPUT = IntervalsOutput(table="hourly", time_column="hour", interval="hour")
VOLUME = Expectation(
    expect="expect_table_row_count_to_be_between", kwargs={"min_value": 5}, on=(Subject.INTERVAL,), description="why"
)
REFERENCE = Expectation(
    expect="expect_column_values_to_be_in_reference",
    kwargs={"column": "city", "static": "cities"},
    on=(Subject.INTERVAL,),
)


@dataclass
class Measures:
    """Stands for Spark: the same of each interval, and it counts what it was asked about."""

    unknown: int = 0
    asked: list[tuple[str, datetime]] = field(default_factory=list)

    def __call__(
        self, _rows: object, _column: str, starts: Sequence[datetime], expectations: Sequence[Expectation], **_: object
    ) -> dict[datetime, list[Measured]]:
        self.asked += [(each.expect, start) for start in starts for each in expectations]
        return {start: [self._of(each) for each in expectations] for start in starts}

    def _of(self, expectation: Expectation) -> Measured:
        return Measured(4, unexpected=self.unknown) if expectation.expect == REFERENCE.expect else Measured(4, 4.0)


class Rows:
    """What the check needs of a DataFrame."""

    def where(self, _condition: str) -> Rows:
        return self


@pytest.fixture
def measures(monkeypatch: pytest.MonkeyPatch) -> Measures:
    found = Measures()
    monkeypatch.setattr(interval_quality, "measure", found)
    monkeypatch.setattr(interval_quality, "measure_records", found)
    return found


def ledger(rows: int = 4) -> Ledger:
    written = Written("settle:hourly", 1, 1, START, {}, "code", Content(rows, str(rows)))
    spans = {start: LedgerRow(Interval(start, start + HOUR), written, written) for start in STARTS}
    return Ledger(spans, STARTS[-1] + HOUR, 1)


def quality(*expectations: Expectation) -> IntervalQuality:
    nothing, table = cast(Any, None), OutputTable(Path("hourly"), OUTPUT)
    return IntervalQuality(nothing, "hourly", table, ledger(), InMemoryQualityResults(), nothing, expectations)


def checked(quality: IntervalQuality) -> tuple[IntervalCheckResult, ...]:
    return quality.catch_up(cast(Any, Rows()), STARTS, cast(Any, None))


def is_stopped(found: Sequence[IntervalCheckResult]) -> bool:
    return any(each.checked.stops for each in found)


@pytest.mark.parametrize(("before", "now"), [(Severity.WARNING, Severity.CRITICAL), (Severity.CRITICAL, Severity.INFO)])
def test_what_is_on_record_has_the_severity_of_today(measures: Measures, before: Severity, now: Severity) -> None:
    first = quality(VOLUME.model_copy(update={"severity": before}))
    assert is_stopped(checked(first)) is (before is Severity.CRITICAL)
    measures.asked.clear()
    later = replace(first, expectations=(VOLUME.model_copy(update={"severity": now, "description": "another"}),))
    found = checked(later)
    assert is_stopped(found) is (now is Severity.CRITICAL)
    assert {each.checked.description for each in found} == {"another"}
    assert not measures.asked, "no interval holds anything else"
    shown = [one for _, results in later.history(STARTS[-1] + HOUR) for one in results]
    assert {one.checked.severity for one in shown} == {now}


def test_what_refers_to_another_table_is_judged_again_and_nothing_else_is(measures: Measures) -> None:
    first = quality(VOLUME, REFERENCE)
    measures.unknown = 1
    assert {each.verdict for each in checked(first) if each.key == REFERENCE.key} == {ExpectationResult.FAILS}
    measures.unknown = 0
    measures.asked.clear()
    found = checked(first)
    assert {each.verdict for each in found if each.key == REFERENCE.key} == {ExpectationResult.HOLDS}
    assert [(each.start, each.key) for each in found] == [(s, e.key) for s in STARTS for e in (VOLUME, REFERENCE)]
    assert measures.asked == [(REFERENCE.expect, start) for start in STARTS]


def test_an_interval_that_holds_something_else_is_judged_whole_and_once(measures: Measures) -> None:
    first = quality(VOLUME, REFERENCE)
    checked(first)
    measures.asked.clear()
    other = replace(first, ledger=ledger(rows=5))
    checked(other)
    assert sorted(measures.asked) == sorted((e.expect, s) for s in STARTS for e in (VOLUME, REFERENCE))
