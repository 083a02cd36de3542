"""Pipelines over a settled table: settled, verified, marked and repaired, against pandas."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.shape import Shape
from tests.shapes import chained, sql, transforms
from tests.shapes.chained_specs import DAYS, UPSTREAM, chained_pipeline, days_of
from tests.shapes.oracle import differences, expected


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)
    monkeypatch.setitem(sys.modules, "transforms.chained", chained)
    monkeypatch.setitem(sys.modules, "transforms", sql)


@pytest.fixture
def hours(drained: Drained) -> Shape:
    """The table that the others read, not settled yet."""
    return Shape.over(drained, UPSTREAM)


def over(hours: Shape, name: str) -> Shape:
    """Return a pipeline that reads the settled hours."""
    return Shape.of_pipeline(hours.drained, chained_pipeline(name))


def whole_days(rows: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Return the days of these hours that are settled."""
    return days_of(rows)[lambda days: days["at"] < pd.Timestamp(ledger.closed_until)]


@pytest.mark.parametrize("name", ["days", pytest.param(DAYS[1], marks=pytest.mark.verify)])
def test_days_are_settled_from_hours_marked_with_them_and_repaired(hours: Shape, name: str) -> None:
    hours.settle()
    days = over(hours, name)
    days.settle()
    assert hours.ledger.closed_until is not None
    assert days.ledger.closed_until == hours.ledger.closed_until.replace(hour=0)
    assert len(wanted := whole_days(expected(UPSTREAM, FIRST, LAST), days.ledger)) > 3
    assert differences(name, days.rows(), wanted) == []
    verified = days.backfill(Mode.VERIFY)
    assert (verified.outcome, verified.why) == ("identical", "")
    assert verified.report is not None
    assert verified.report.cross_check == (CrossCheck(2) if name in DAYS[1:] else None)

    assert hours.backfill(Mode.RECOMPUTE).outcome == "recomputed"  # the same rows again
    days.settle(generation=2)
    assert not any(row.dirty for row in days.ledger.spans)

    late = whole_hours(hours, expected(UPSTREAM, FIRST, LAST, with_late=True))
    first = Interval(min(late["at"]).floor("D").to_pydatetime(), min(late["at"]).ceil("D").to_pydatetime())
    assert hours.backfill(Mode.CORRECT, first).outcome == "explained"
    days.settle(generation=3)
    assert {start for start, row in days.ledger.rows.items() if row.dirty} == {first.start}
    verified = days.backfill(Mode.VERIFY, Interval(first.end, days.ledger.spans[-1].interval.end), key="rest")
    assert (verified.outcome, verified.why) == ("identical", "")
    repaired = days.backfill(Mode.RECOMPUTE)
    assert (repaired.outcome, repaired.why) == ("recomputed", "")
    assert not any(row.dirty for row in days.ledger.spans)
    assert differences(name, days.rows(), whole_days(hours.rows(), days.ledger)) == []
    assert differences(name, days.rows(), wanted) != []


def whole_hours(hours: Shape, rows: pd.DataFrame) -> pd.DataFrame:
    return hours.settled(rows)
