"""Pipelines over a settled table: settled, verified, marked and repaired, against pandas."""

from __future__ import annotations

import sys
from shutil import rmtree

import pandas as pd
import pytest
from deltalake import DeltaTable

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger
from sluice.settling.settler import RoundOutcome
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.half_read import half_read
from tests.integration.spark.settling.shape import Shape
from tests.oracle import flights
from tests.shapes import chained, sql, transforms
from tests.shapes.chained_specs import DAYS, UPSTREAM, chained_pipeline, crowds_of, days_of
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


@pytest.mark.verify
@pytest.mark.parametrize("name", DAYS)
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


@pytest.mark.verify
def test_flights_are_joined_with_a_settled_table(hours: Shape) -> None:
    hours.settle()
    crowds = over(hours, "crowds")
    crowds.settle(crowds.source(max_records=1_200))
    counted = expected(UPSTREAM, FIRST, LAST)
    flown = flights(FIRST, LAST)
    wanted = crowds_of(flown[~(flown["dep_delay"] > 180)], counted)
    settled = crowds.settled(wanted)
    assert len(settled) > 1_000
    assert differences("crowds", crowds.rows(), settled) == []
    verified = crowds.backfill(Mode.VERIFY)
    assert (verified.outcome, verified.why) == ("identical", "")
    assert hours.backfill(Mode.CORRECT).outcome == "explained"
    crowds.settle(generation=2)
    marked = {start for start, row in crowds.ledger.rows.items() if row.dirty}
    wrong = crowds.settled(crowds_of(flown[~(flown["dep_delay"] > 180)], hours.rows()))
    touched = {start for start in crowds.ledger.rows if differences("", of(crowds.rows(), start), of(wrong, start))}
    assert touched
    assert touched <= marked
    assert crowds.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    assert differences("crowds", crowds.rows(), wrong) == []
    assert not any(row.dirty for row in crowds.ledger.spans)


def of(rows: pd.DataFrame, start: object) -> pd.DataFrame:
    return rows[rows["at"].dt.floor("h") == pd.Timestamp(str(start))]


@pytest.mark.verify
def test_records_that_came_too_late_for_the_hours_reach_the_days_by_two_repairs(hours: Shape) -> None:
    hours.settle(half_read(hours.source()))
    days = over(hours, "days")
    days.settle()
    assert days.ledger.closed_until is not None
    hours.settle(generation=2)
    days.settle(generation=2)
    assert any(row.dirty for row in hours.ledger.spans)
    assert not any(row.dirty for row in days.ledger.spans), "nothing in the hours has changed yet"
    assert hours.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    days.settle(generation=3)
    assert any(row.dirty for row in days.ledger.spans)
    assert days.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    assert not any(row.dirty for row in days.ledger.spans)
    assert differences("days", days.rows(), whole_days(expected(UPSTREAM, FIRST, LAST), days.ledger)) == []


@pytest.mark.verify
def test_what_days_were_made_of_and_is_vacuumed_since_cannot_be_verified_but_recomputed(hours: Shape) -> None:
    hours.settle()
    days = over(hours, "days")
    days.settle()
    assert hours.backfill(Mode.CORRECT).outcome == "explained"
    DeltaTable(str(hours.table)).vacuum(0, full=True, enforce_retention_duration=False, dry_run=False)
    verified = days.backfill(Mode.VERIFY)
    assert verified.outcome == "inconclusive"
    assert verified.report is not None
    assert all("hours: " in parity.why and "are vacuumed" in parity.why for parity in verified.report.intervals)
    with pytest.raises(RefusedError, match="recompute it"):
        days.backfill(Mode.TRY)
    days.settle(generation=2)
    assert days.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    assert days.backfill(Mode.VERIFY, key="again").outcome == "identical"


@pytest.mark.verify
def test_another_table_of_the_same_name_settles_nothing(hours: Shape) -> None:
    hours.settle()
    days = over(hours, "days")
    days.settle()
    rmtree(hours.table)
    hours.settle()
    settler = days.source().settler(days.table, "settle:days", 2)
    assert settler.round().outcome is RoundOutcome.RAW_BEHIND


@pytest.mark.verify
def test_a_correction_of_days_takes_corrected_hours_also_before_they_are_marked(hours: Shape) -> None:
    hours.settle()
    days = over(hours, "days")
    days.settle()
    assert hours.backfill(Mode.CORRECT).outcome == "explained"
    corrected = days.backfill(Mode.CORRECT)
    assert (corrected.outcome, corrected.why) == ("explained", "")
    assert differences("days", days.rows(), whole_days(hours.rows(), days.ledger)) == []
    days.settle(generation=2)
    assert any(row.dirty for row in days.ledger.spans), "what was settled first is still what `verify` compares with"
    assert days.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    assert not any(row.dirty for row in days.ledger.spans)
    assert differences("days", days.rows(), whole_days(hours.rows(), days.ledger)) == []
