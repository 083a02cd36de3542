"""Pipelines whose intervals hand on tables: settled in order, verified, corrected and repaired, against pandas."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.errors import RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.repair import needed_repair
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import LedgerRow
from sluice.spark.settling import computation
from sluice.spark.tables import raw_table
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.half_read import half_read
from tests.integration.spark.settling.shape import Shape
from tests.oracle import flights
from tests.shapes import carried
from tests.shapes.carried_specs import ORACLES, carried_pipeline
from tests.shapes.oracle import differences

LATE_AFTER = 180
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.carried", carried)


def on_time(late_in: Callable[[pd.DataFrame], pd.Series] | None = None) -> pd.DataFrame:
    """Return the flights that are not late, with those late ones that a condition picks."""
    sent = flights(FIRST, LAST)
    late = sent["dep_delay"] > LATE_AFTER
    return sent[~late | late_in(sent)] if late_in is not None else sent[~late]


def dirty(shape: Shape) -> list[LedgerRow]:
    return [row for row in shape.ledger.spans if row.dirty]


def digests(shape: Shape) -> list[tuple[datetime, dict[str, str], dict[str, str]]]:
    rows = (row for row in shape.ledger.spans if row.carried is not None)
    return [(row.interval.start, dict(row.carried.before), dict(row.carried.after)) for row in rows if row.carried]


@pytest.mark.parametrize("bytes_of_arrow", [raw_table._FEW_BYTES, pytest.param(0, marks=pytest.mark.verify)])
def test_a_function_over_the_records_of_each_key_goes_on_from_interval_to_interval(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, bytes_of_arrow: int
) -> None:
    monkeypatch.setattr(computation, "_MOST_CALLS", 6)
    monkeypatch.setattr(raw_table, "_FEW_BYTES", bytes_of_arrow)
    shape = Shape.of_pipeline(drained, carried_pipeline("turns"))
    shape.settle(rounds=1)
    assert len(settled := shape.settled(ORACLES["turns"](on_time()))) > 20
    assert differences("turns", shape.rows(), settled) == []
    chain = digests(shape)
    assert chain[0][1] == {}
    assert all(before[2] == after[1] for before, after in pairwise(chain))
    verified = shape.backfill(Mode.VERIFY, Interval(chain[2][0], chain[4][0]))
    assert (verified.outcome, verified.why) == ("identical", "")
    assert shape.backfill(Mode.RECOMPUTE, Interval(chain[1][0], chain[2][0])).outcome == "recomputed"
    assert dirty(shape) == [], "it has left the same state"


@pytest.mark.verify
@pytest.mark.parametrize("name", ["turns", "running"])
def test_a_state_is_handed_on_from_interval_to_interval_and_a_correction_reaches_all_behind_it(
    drained: Drained, name: str
) -> None:
    shape, oracle = Shape.of_pipeline(drained, carried_pipeline(name)), ORACLES[name]
    shape.settle(rounds=1)
    assert len(settled := shape.settled(oracle(on_time()))) > 20
    assert differences(name, shape.rows(), settled) == []
    chain = digests(shape)
    assert chain[0][1] == {}
    assert all(before[2] == after[1] for before, after in pairwise(chain))
    verified = shape.backfill(Mode.VERIFY, first_hours(shape, 6))
    assert (verified.outcome, verified.why) == ("identical", "")

    hour = first_late(shape, oracle)
    corrected = shape.backfill(Mode.CORRECT, Interval(hour, hour + HOUR))
    assert (corrected.outcome, corrected.why) == ("explained", "")
    behind = [row for row in shape.ledger.spans if row.carried is not None and row.interval.start > hour]
    assert dirty(shape) == behind, "they continue a state that was computed again"
    assert all("which was computed again since" in row.dirty[0] for row in behind)
    assert all(row.marks == () for row in behind)
    repair = needed_repair(shape.ledger, shape.code.code_hash)
    assert repair is not None
    assert repair.rows == tuple(behind)
    repaired = shape.backfill(Mode.RECOMPUTE, repair.range, key="repair")
    assert (repaired.outcome, repaired.why) == ("recomputed", "")
    assert dirty(shape) == []
    wanted = oracle(on_time(lambda sent: sent["hour_utc"] == pd.Timestamp(hour)))
    assert differences(name, shape.rows(), shape.settled(wanted)) == []
    assert differences(name, shape.rows(), settled) != []
    verified = shape.backfill(Mode.VERIFY, Interval(hour + HOUR, hour + 6 * HOUR), key="again")
    assert (verified.outcome, verified.why) == ("identical", "")


@pytest.mark.verify
def test_several_tables_with_several_keys_are_handed_on(drained: Drained) -> None:
    shape = Shape.of_pipeline(drained, carried_pipeline("first_seen"))
    shape.settle(rounds=1)
    assert len(settled := shape.settled(ORACLES["first_seen"](on_time()))) > 20
    assert differences("first_seen", shape.rows(), settled) == []
    verified = shape.backfill(Mode.VERIFY, first_hours(shape, 6))
    assert (verified.outcome, verified.why) == ("identical", "")


def first_hours(shape: Shape, count: int) -> Interval:
    start = shape.ledger.spans[0].interval.start
    return Interval(start, start + count * HOUR)


def first_late(shape: Shape, oracle: Callable[[pd.DataFrame], pd.DataFrame]) -> datetime:
    """Return the first hour whose late records change what is made of it or of a later one."""
    sent, without = flights(FIRST, LAST), oracle(on_time())
    late = sent[sent["dep_delay"] > LATE_AFTER]
    for hour in sorted(late["hour_utc"].unique()):
        changed = oracle(on_time(lambda all_, at=hour: all_["hour_utc"] == at))
        if differences("", without, changed) and hour < pd.Timestamp(shape.ledger.closed_until) - HOUR:
            return hour.to_pydatetime()
    raise AssertionError("no late record changes anything")


@pytest.mark.verify
def test_records_that_came_too_late_for_an_hour_are_repaired_through_all_behind_it(drained: Drained) -> None:
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    shape.settle(half_read(shape.source()))
    shape.settle(generation=2)
    marked = dirty(shape)
    assert any(row.marks for row in marked)
    assert any(row.dirty and not row.marks for row in marked)
    assert shape.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    assert dirty(shape) == []
    assert differences("running", shape.rows(), shape.settled(ORACLES["running"](on_time()))) == []


@pytest.mark.verify
def test_an_interval_that_is_computed_again_and_leaves_the_same_state_makes_nothing_dirty(drained: Drained) -> None:
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    shape.settle(rounds=1)
    before = digests(shape)
    assert shape.backfill(Mode.RECOMPUTE, first_hours(shape, 4)).outcome == "recomputed"
    assert digests(shape) == before
    assert dirty(shape) == []


@pytest.mark.verify
def test_a_state_on_record_that_is_not_what_the_code_leaves_is_found(drained: Drained) -> None:
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    shape.settle(rounds=1)
    entries = [
        path for path in sorted((shape.table / "_delta_log").glob("*.json")) if '\\"settle\\"' in path.read_text()
    ]
    assert entries
    start, _, after = digests(shape)[2]
    for path in entries:
        text = path.read_text()
        path.write_text(text.replace(after["counted"], after["counted"][::-1]))
    verified = shape.backfill(Mode.VERIFY, Interval(start, start + HOUR))
    assert verified.outcome == "different"
    assert "the state 'counted' that it leaves is another one" in verified.why


@pytest.mark.verify
def test_new_code_is_tried_along_the_chain_and_publishes_nothing(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    shape.settle(rounds=1)
    before, version = digests(shape), DeltaTable(str(shape.table)).version()

    original = carried.running

    def doubled(flights: DataFrame, *, counted: DataFrame) -> tuple[DataFrame, DataFrame]:
        return original(flights.unionByName(flights), counted=counted)

    monkeypatch.setattr(carried, "running", doubled)
    new = Shape.of_pipeline(drained, carried_pipeline("running"))
    tried = new.backfill(Mode.TRY, first_hours(shape, 3))
    assert tried.outcome == "changed"
    assert tried.report is not None
    assert all(parity.counts.states == 1 for parity in tried.report.intervals if parity.counts.differences)
    assert (digests(shape), DeltaTable(str(shape.table)).version()) == (before, version)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows, _: rows, "returns DataFrame, and the output carries counted"),
        (lambda rows, after: (rows, after.drop("flights")), "leaves 'counted' without the column 'flights'"),
        (lambda rows, after: (rows, after.withColumn("flights", F.lit(1))), "leaves counted.flights as int"),
    ],
)
def test_a_transform_that_returns_something_else_is_refused(
    drained: Drained,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[DataFrame, DataFrame], object],
    message: str,
) -> None:
    original = carried.running
    monkeypatch.setattr(carried, "running", lambda flights, *, counted: change(*original(flights, counted=counted)))
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    with pytest.raises(SpecError) as refused:
        shape.settle(rounds=1)
    assert message in str(refused.value)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda after: after.unionByName(after), "keys more than once"),
        (lambda after: after.withColumn("carrier", F.lit(None).cast("string")), "without carrier"),
    ],
)
def test_a_state_whose_keys_name_no_row_is_refused(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, change: Callable[[DataFrame], DataFrame], message: str
) -> None:
    original = carried.running

    def changed(flights: DataFrame, *, counted: DataFrame) -> tuple[DataFrame, DataFrame]:
        rows, after = original(flights, counted=counted)
        return rows, change(after)

    monkeypatch.setattr(carried, "running", changed)
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    with pytest.raises(RefusedError) as refused:
        shape.settle(rounds=1)
    assert message in str(refused.value)


@pytest.mark.verify
def test_a_state_that_is_gone_says_how_to_go_on(drained: Drained) -> None:
    shape = Shape.of_pipeline(drained, carried_pipeline("running"))
    shape.settle(rounds=1)
    start = shape.ledger.spans[0].interval.start
    for path in states(drained):
        path.unlink()
    with pytest.raises(RefusedError, match="is not there any more") as refused:
        shape.backfill(Mode.VERIFY, Interval(start + 2 * HOUR, start + 4 * HOUR))
    assert "recompute from an interval before which the state is there, or from the first one" in refused.value.fix
    assert shape.backfill(Mode.RECOMPUTE).outcome == "recomputed"
    assert shape.backfill(Mode.VERIFY, key="again").outcome == "identical"


def states(drained: Drained) -> Iterator[Path]:
    return (drained.project.folder.carried / "running").glob("counted/*.parquet")
