"""Transforms over all records of an interval: one call for each, in a stream and in every backfill, against pandas."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pandas as pd
import pytest

from sluice.delta.log import read_log
from sluice.errors import SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import SettleEntry
from sluice.spark.records.pipeline import result_rows
from sluice.spark.records.unbounded import refuse_unbounded
from sluice.spark.settling import computed
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.records import RawTable
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.shape import Shape
from tests.shapes import transforms
from tests.shapes.oracle import differences, expected

SOME = Interval(datetime(2013, 1, 1, 17, tzinfo=UTC), datetime(2013, 1, 1, 21, tzinfo=UTC))
"""Four of the intervals that a test settles, with late records in two of them: one chunk of a backfill."""


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)


def inside(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["at"] >= pd.Timestamp(SOME.start)) & (rows["at"] < pd.Timestamp(SOME.end))]


def most_at_once(shape: Shape) -> int:
    """Return the most intervals with rows that one commit of the settler holds."""
    entries = (logged.entry for logged in read_log(shape.table))
    return max(len(entry.content) for entry in entries if isinstance(entry, SettleEntry))


@pytest.mark.parametrize("name", ["standings", pytest.param("totals", marks=pytest.mark.verify)])
def test_each_interval_is_a_call_of_its_own_however_many_are_computed(drained: Drained, name: str) -> None:
    shape = Shape.over(drained, name)
    shape.settle(shape.source(max_records=300), rounds=2)
    on_time = shape.settled(expected(name, FIRST, LAST))
    assert most_at_once(shape) > 3
    assert differences(name, shape.rows(), on_time) == []
    verified = shape.backfill(Mode.VERIFY, SOME)
    assert (verified.outcome, verified.why) == ("identical", "")
    recomputed = shape.backfill(Mode.RECOMPUTE, SOME)
    assert len(recomputed.published) == 4
    assert differences(name, shape.rows(), on_time) == []
    corrected = shape.backfill(Mode.CORRECT, SOME)
    assert (corrected.outcome, corrected.why) == ("explained", "")
    with_late = expected(name, FIRST, LAST, with_late=True)
    assert differences(name, inside(shape.rows()), inside(with_late)) == []
    assert differences(name, inside(with_late), inside(on_time)) != []
    tried = shape.backfill(Mode.TRY, SOME)
    assert (tried.outcome, tried.why) == ("identical", "")


def test_rows_of_one_call_that_outgrow_the_driver_are_written_with_those_of_the_others(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, brought = Shape.over(drained, "standings"), computed.brought
    calls = iter(range(10_000))
    monkeypatch.setattr(computed, "brought", lambda rows: None if next(calls) % 3 == 1 else brought(rows))
    shape.settle(shape.source(max_records=300), rounds=2)
    assert differences("standings", shape.rows(), shape.settled(expected("standings", FIRST, LAST))) == []
    assert not (drained.project.folder.staging / "standings").exists()


@pytest.mark.parametrize(
    ("name", "expression"), [("standings", "PERCENT_RANK"), pytest.param("totals", "count", marks=pytest.mark.verify)]
)
def test_with_the_scope_of_a_range_such_a_transform_is_refused_before_it_starts(
    drained: Drained, name: str, expression: str
) -> None:
    shape = Shape.over(drained, name, scope="range")
    source = shape.source()
    records = raw_records(RawTable.pin(source.folder, source.pin()).rows(drained.spark))
    with pytest.raises(SpecError, match=expression) as refused:
        refuse_unbounded(result_rows(records, shape.code), records, shape.code.pipeline.intervals)
    assert "scope: interval" in refused.value.fix


def test_with_the_scope_of_a_range_such_a_transform_is_convicted_and_told_the_scope_to_write(drained: Drained) -> None:
    shape = Shape.over(drained, "standings", scope="range")
    shape.settle(shape.source(max_records=300), rounds=2)
    verified = shape.backfill(Mode.VERIFY)
    assert verified.outcome == "different"
    assert "cut_dependent: " in verified.why
    assert "write `scope: interval`" in verified.why
