"""A real raw table, settled: the rows of the driver's own settler, contents in the ledger, marks where rows lack."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from sluice.delta.log import read_log
from sluice.delta.reading import read_rows
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import Interval
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.reach import Reach
from sluice.settling.settler import RoundOutcome
from sluice.spark.records.pipeline import partition_column
from sluice.spark.settling import computed
from sluice.spark.tables import raw_table
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.half_read import half_read
from tests.integration.spark.settling.inputs import SettlerInputs
from tests.oracle import departures, differences

WRITER = "settle:departures"
IN_FLIGHT = timedelta(minutes=15)


@dataclass(frozen=True)
class Settled:
    """A drained state, and a table beside the driver's that another settler fills."""

    drained: Drained
    table: Path

    @property
    def staging(self) -> Path:
        return self.table.with_name("staging")

    def source(self, max_records: int = 500_000) -> SettlerInputs:
        project, spark, code = self.drained.project, self.drained.spark, self.drained.code
        inputs = SettlerInputs.of(project, spark, code, self.staging, max_records=max_records, settled=self.table)
        return inputs.with_sources(
            lambda source: replace(source, rules=replace(source.rules, arrival_disorder=IN_FLIGHT))
        )

    def settle(self, inputs: SettlerInputs, generation: int = 1) -> list[RoundOutcome]:
        """Settle until nothing is due."""
        settler, outcomes = inputs.settler(self.table, WRITER, generation), list[RoundOutcome]()
        while not outcomes or outcomes[-1] is not RoundOutcome.WAITING:
            outcomes.append(settler.round().outcome)
        return outcomes

    @property
    def ledger(self) -> Ledger:
        return fold(read_log(self.table), timedelta(hours=1))

    def rows(self) -> pd.DataFrame:
        return read_rows(self.table).to_pandas()


@pytest.fixture
def settled(drained: Drained, tmp_path: Path) -> Settled:
    table = tmp_path / "settled"
    schema = DeltaTable(str(drained.table)).schema().to_json()
    ensure_table(table, schema, partition_by=[partition_column(drained.code.pipeline.intervals)])
    return Settled(drained, table)


def test_settling_gives_the_rows_of_the_driver_and_of_the_oracle(settled: Settled) -> None:
    assert settled.settle(settled.source()) == [RoundOutcome.SETTLED, RoundOutcome.WAITING]
    assert differences(settled.rows(), departures(FIRST, LAST)) == []
    drivers = {start: row.current.content for start, row in settled.drained.ledger.rows.items() if row.current}
    own = {start: row.current.content for start, row in settled.ledger.rows.items() if row.current}
    assert {start: own[start] for start in drivers if start in own} == {s: c for s, c in drivers.items() if s in own}
    assert len(own) >= 40
    assert not any(row.dirty for row in settled.ledger.spans)


@pytest.mark.verify
def test_intervals_are_joined_up_to_a_number_of_records_and_split_above(settled: Settled) -> None:
    outcomes = settled.settle(settled.source(max_records=1))
    assert outcomes.count(RoundOutcome.SETTLED) > 1
    assert differences(settled.rows(), departures(FIRST, LAST)) == []


def test_many_records_are_examined_in_parts(settled: Settled) -> None:
    inputs = settled.source().with_sources(lambda source: replace(source, max_examined=400))
    outcomes = settled.settle(inputs)
    assert outcomes.count(RoundOutcome.EXAMINING) + outcomes.count(RoundOutcome.SETTLED) > 4
    assert differences(settled.rows(), departures(FIRST, LAST)) == []
    assert not any(row.dirty for row in settled.ledger.spans)


def test_a_partition_with_unread_records_holds_what_it_has_not_passed(settled: Settled) -> None:
    inputs = settled.source()
    known = inputs.sources["flights"].listed_ends()
    ends = {**known.offsets, "flights/7": 1}
    assert settled.settle(inputs.ending_at(Reach(ends, known.topics))) == [RoundOutcome.WAITING]
    assert settled.rows().empty


def test_records_that_came_after_their_interval_was_settled_mark_it(settled: Settled) -> None:
    whole = settled.source()
    assert settled.settle(half_read(whole))[-1] is RoundOutcome.WAITING
    settled.settle(whole, generation=2)
    ledger, expected = settled.ledger, departures(FIRST, LAST)
    marked = {start for start, row in ledger.rows.items() if row.dirty}
    wrong = {start for start in ledger.rows if differences(_of(settled.rows(), start), _of(expected, start))}
    assert wrong
    assert wrong == marked


def test_a_file_without_records_of_an_interval_hides_none_of_the_others(settled: Settled) -> None:
    inputs, folder = settled.source(), settled.table.with_name("three_files")
    source = inputs.sources["flights"]
    rows = read_rows(source.folder)
    first = datetime.fromisoformat(f"{FIRST}T15:00:00+00:00")
    times = rows.column("event_time")
    inside = pc.and_(pc.greater_equal(times, first), pc.less(times, first + timedelta(hours=1)))
    own, others = rows.filter(inside), rows.filter(pc.invert(inside))  # these lie before and after it
    assert len(own) > 10
    for part in (own.slice(0, 5), others, own.slice(5)):
        write_deltalake(folder, part, mode="append")
    position, hour = replace(source.pin(), version=2), Interval(first, first + timedelta(hours=1))
    computation = inputs.with_sources(lambda source: replace(source, folder=folder)).computation
    found = computation.compute({"flights": position}, {"flights": position.reach}, hour)
    expected = departures(FIRST, LAST)
    assert found.content[first].rows == len(expected[expected["hour"] == pd.Timestamp(first)])


def test_records_that_outgrow_the_driver_are_read_by_spark(settled: Settled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_table, "_FEW_BYTES", 0)
    assert settled.settle(settled.source()) == [RoundOutcome.SETTLED, RoundOutcome.WAITING]
    assert differences(settled.rows(), departures(FIRST, LAST)) == []


def test_rows_that_outgrow_the_driver_go_through_files(settled: Settled, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = settled.settle(settled.source())
    wanted = {start: row.current.content for start, row in settled.ledger.rows.items() if row.current}
    monkeypatch.setattr(computed, "brought", lambda _rows: None)
    other = replace(settled, table=settled.table.with_name("by_files"))
    ensure_table(other.table, DeltaTable(str(settled.table)).schema().to_json(), partition_by=["hour"])
    wider = pa.field("added_since", pa.string())
    DeltaTable(str(other.table)).alter.add_columns(Schema.from_arrow(pa.schema([wider])).fields)
    assert other.settle(other.source()) == in_memory
    assert differences(other.rows(), departures(FIRST, LAST)) == []
    assert {start: row.current.content for start, row in other.ledger.rows.items() if row.current} == wanted
    assert not other.staging.exists()


def _of(rows: pd.DataFrame, start: datetime) -> pd.DataFrame:
    return rows[rows["hour"] == pd.Timestamp(start)]
