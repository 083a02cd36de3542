"""Windows and transformations of every kind: settled, verified and corrected, against pandas."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

import pandas as pd
import pytest

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.delta.settled_log import SettledLog
from sluice.delta.table import ensure_table
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.ledger import Ledger
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import RoundOutcome, Settler, SettlerIdentity
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.records.pipeline import PipelineCode, partition_column, result_rows
from sluice.spark.settling.raw_source import RawTableSource
from sluice.spark.settling.stream import settler_name
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.records import RawTable
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.half_read import half_read
from tests.shapes import faulty, transforms
from tests.shapes.oracle import differences, expected
from tests.shapes.specs import SHAPES, pipeline_of


@dataclass(frozen=True)
class Shape:
    """A settled table of one shape, beside a drained raw table."""

    name: str
    drained: Drained
    code: PipelineCode

    @classmethod
    def over(cls, drained: Drained, name: str, **declared: str) -> Shape:
        pipeline = pipeline_of(name, **declared)
        own = drained.with_catalog(pipelines={**drained.project.catalog.pipelines, name: pipeline})
        code = PipelineCode(pipeline, drained.code.topic, {}, code_hash=f"code of {name}")
        return cls(name, own, code)

    @property
    def table(self) -> Path:
        return self.drained.project.folder.table(self.name)

    @property
    def ledger(self) -> Ledger:
        return self.drained.project.tables.ledger(self.name)

    def settle(self, source: RawTableSource | None = None, *, generation: int = 1) -> None:
        source = source or self.source()
        records = raw_records(RawTable.pin(source.folder, source.pin(), self.code.topic).rows(self.drained.spark))
        column = partition_column(self.code.pipeline.intervals)
        ensure_table(self.table, result_rows(records, self.code).schema.json(), partition_by=[column])
        name, numbers = settler_name(self.name), count()
        log = SettledLog(self.table, column, name, generation, source.rules)
        log.open()
        author = SettlerIdentity(name, generation, self.code.code_hash)
        settler = Settler(
            author, source.rules, source, log, clock=SystemClock(), nonce=lambda: f"{generation}-{next(numbers)}"
        )
        while settler.round().outcome is not RoundOutcome.WAITING:
            pass

    def source(self, max_records: int = 500_000) -> RawTableSource:
        raw = self.drained.project.folder.table(self.code.topic.raw.table)
        position = self.drained.project.tables.raw_position(self.code.topic.name)
        rules = SettlingRules.of(self.code.pipeline)
        return RawTableSource(
            self.drained.spark,
            raw,
            self.code,
            rules,
            lambda: position.reach,
            self.drained.project.folder.staging / self.name,
            max_records,
            settled=self.table,
        )

    def backfill(self, mode: Mode) -> Result:
        spans = self.ledger.spans
        closed = Interval(spans[0].interval.start, spans[-1].interval.end)
        request = Request(self.name, closed, mode, "tests", "a test", Only.ALL)
        return run_backfill(self.drained.project, self.drained.spark, self.code, request, key=f"{self.name}-{mode}")

    def settled(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return those rows that lie in a settled interval."""
        return rows[rows["at"] < pd.Timestamp(self.ledger.closed_until)]

    def rows(self) -> pd.DataFrame:
        return read_rows(self.table).to_pandas()


_SAMPLE = {"sessions"}
"""What `make test` takes; the others are as dear, and go through the same code."""


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)
    monkeypatch.setitem(sys.modules, "transforms.faulty", faulty)


@pytest.mark.parametrize(
    "name", [name if name in _SAMPLE else pytest.param(name, marks=pytest.mark.verify) for name in SHAPES]
)
def test_every_shape_is_settled_verified_corrected_and_tried(drained: Drained, name: str) -> None:
    shape = Shape.over(drained, name)
    shape.settle(shape.source(max_records=1200))
    assert differences(name, shape.rows(), shape.settled(expected(name, FIRST, LAST))) == []
    verified = shape.backfill(Mode.VERIFY)
    assert (verified.outcome, verified.why) == ("identical", "")
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
