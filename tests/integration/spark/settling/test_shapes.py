"""Windows and transformations of every kind: settled, verified and corrected, against pandas."""

from __future__ import annotations

import sys
from datetime import datetime

import pandas as pd
import pytest

from sluice.errors import RefusedError
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.request import Mode
from sluice.spark.records.transforms import SelectTransform
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.half_read import half_read
from tests.integration.spark.settling.shape import Shape
from tests.shapes import faulty, sql, transforms
from tests.shapes.oracle import differences, expected
from tests.shapes.specs import SHAPES

_CROSS_CHECKS = {
    "busiest_in_sql": CrossCheck(8),
    "hopping_in_sql": CrossCheck(8),
    "sessions_in_sql": CrossCheck(not_asked="session_window() means another thing in DuckDB"),
    "pauses_in_sql": CrossCheck(not_asked="timestampdiff() means another thing in DuckDB"),
}


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)
    monkeypatch.setitem(sys.modules, "transforms.faulty", faulty)
    monkeypatch.setitem(sys.modules, "transforms", sql)


@pytest.mark.verify  # `make test` takes one over two topics: see test_joined
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_settled_verified_corrected_and_tried(drained: Drained, name: str) -> None:
    shape = Shape.over(drained, name)
    shape.settle(shape.source(max_records=1200))
    assert differences(name, shape.rows(), shape.settled(expected(name, FIRST, LAST))) == []
    verified = shape.backfill(Mode.VERIFY)
    assert (verified.outcome, verified.why) == ("identical", "")
    assert verified.report is not None
    assert verified.report.cross_check == _CROSS_CHECKS.get(name)
    corrected = shape.backfill(Mode.CORRECT)
    assert (corrected.outcome, corrected.why) == ("explained", "")
    assert corrected.published
    assert differences(name, shape.rows(), shape.settled(expected(name, FIRST, LAST, with_late=True))) == []
    tried = shape.backfill(Mode.TRY)
    assert (tried.outcome, tried.why) == ("identical", "")


@pytest.mark.parametrize(
    ("name", "declared", "conviction"),
    [
        pytest.param("by_order", {}, "order_dependent", marks=pytest.mark.verify),
        pytest.param("by_cut", {}, "cut_dependent", marks=pytest.mark.verify),
        ("by_chance", {}, "not_repeatable"),
        pytest.param("pauses", {"lookback": "5 minutes"}, "lookback_too_short", marks=pytest.mark.verify),
        pytest.param("pauses", {"lookahead": "5 minutes"}, "lookback_too_short", marks=pytest.mark.verify),
    ],
)
def test_a_transform_that_gives_other_rows_in_another_computation_is_convicted_by_name(
    drained: Drained, name: str, declared: dict[str, str], conviction: str
) -> None:
    shape = Shape.over(drained, name, **declared)
    # What is declared too short shows at the bounds of a computation only: each interval alone has most of them.
    shape.settle(shape.source(max_records=1 if declared else 1200))
    verified = shape.backfill(Mode.VERIFY)
    assert verified.outcome == "different"
    assert f"{conviction}: " in verified.why


@pytest.mark.verify
def test_an_engine_that_loses_rows_each_time_is_convicted_by_another(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = SelectTransform.__call__
    monkeypatch.setattr(
        SelectTransform, "__call__", lambda self, *records, **static: sound(self, *records, **static).where("rank > 1")
    )
    shape = Shape.over(drained, "busiest_in_sql")
    shape.settle()
    verified = shape.backfill(Mode.VERIFY)
    assert verified.outcome == "different"
    assert "duckdb_differs: DuckDB makes other rows of the same records" in verified.why
    assert "only DuckDB has 1 row such as {'at': '2013-01-" in verified.why
    assert verified.report is not None
    assert verified.report.cross_check == CrossCheck(8, 8)


def test_rows_that_no_record_of_their_interval_makes_stop_the_settler(drained: Drained) -> None:
    shape = Shape.over(drained, "by_other_days")
    with pytest.raises(RefusedError, match=r"makes a row of the interval 2013-01-0\d .* which is not made of them"):
        shape.settle()
    assert shape.rows().empty


@pytest.mark.parametrize("name", ["sessions", pytest.param("pauses", marks=pytest.mark.verify)])
def test_records_that_come_too_late_mark_every_interval_whose_rows_they_change(drained: Drained, name: str) -> None:
    shape = Shape.over(drained, name)
    shape.settle(half_read(shape.source()))
    shape.settle(generation=2)
    wanted, rows, ledger = shape.settled(expected(name, FIRST, LAST)), shape.rows(), shape.ledger
    marked = {start for start, row in ledger.rows.items() if row.dirty}
    wrong = {start for start in ledger.rows if differences(name, _of(rows, start), _of(wanted, start))}
    assert wrong
    assert wrong <= marked
    assert marked < set(ledger.rows)


def _of(rows: pd.DataFrame, start: datetime) -> pd.DataFrame:
    return rows[rows["at"].dt.floor("h") == pd.Timestamp(start)]
