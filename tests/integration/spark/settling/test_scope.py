"""Transforms over all records of an interval: one call for each, in a stream and in every backfill, against pandas."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from sluice.delta.log import read_log
from sluice.errors import SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import SettleEntry
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.settling import computed
from sluice.spark.settling.stream import SettledTopic, prepare_settled
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.shape import Shape
from tests.shapes import faulty, transforms
from tests.shapes.oracle import differences, expected

SOME = Interval(datetime(2013, 1, 1, 17, tzinfo=UTC), datetime(2013, 1, 1, 21, tzinfo=UTC))
"""Four of the intervals that a test settles, with late records in two of them: one chunk of a backfill."""


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)
    monkeypatch.setitem(sys.modules, "transforms.faulty", faulty)


def inside(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["at"] >= pd.Timestamp(SOME.start)) & (rows["at"] < pd.Timestamp(SOME.end))]


def most_at_once(shape: Shape) -> int:
    """Return the most intervals with rows that one commit of the settler holds."""
    entries = (logged.entry for logged in read_log(shape.table))
    return max(len(entry.content) for entry in entries if isinstance(entry, SettleEntry))


@pytest.mark.verify
@pytest.mark.parametrize("name", ["standings", "totals"])
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


@pytest.mark.verify
def test_rows_of_one_call_that_outgrow_the_driver_are_written_with_those_of_the_others(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, brought = Shape.over(drained, "standings"), computed.brought
    calls = iter(range(10_000))
    monkeypatch.setattr(computed, "brought", lambda rows: None if next(calls) % 3 == 1 else brought(rows))
    shape.settle(shape.source(max_records=300), rounds=2)
    assert most_at_once(shape) > 3
    assert differences("standings", shape.rows(), shape.settled(expected("standings", FIRST, LAST))) == []
    assert shape.backfill(Mode.VERIFY, SOME).outcome == "identical"
    assert not (drained.project.folder.staging / "standings").exists()


@pytest.mark.parametrize(
    ("name", "expression"), [("standings", "PERCENT_RANK"), pytest.param("totals", "count", marks=pytest.mark.verify)]
)
def test_with_the_scope_of_a_range_such_a_transform_is_refused_before_it_starts(
    drained: Drained, name: str, expression: str
) -> None:
    topic = KafkaTopic(("nowhere:9092",), "flights", "an-id")
    settled = SettledTopic(topic, drained.project.folder.table("flights_raw"))
    context = cast(Any, SimpleNamespace(topics=[settled], upstream={}, table=drained.project.folder.table(name)))
    epoch = cast(Any, SimpleNamespace(start=None, checkpoint=drained.project.folder.checkpoint(name)))
    code = Shape.over(drained, name, scope="range").code
    with pytest.raises(SpecError, match=expression) as refused:
        prepare_settled(drained.spark, code, context, epoch=epoch, generation=1)
    assert "scope: interval" in refused.value.fix
    prepare_settled(drained.spark, Shape.over(drained, name).code, context, epoch=epoch, generation=1)


@pytest.mark.verify
def test_with_the_scope_of_a_range_such_a_transform_is_convicted_and_told_the_scope_to_write(drained: Drained) -> None:
    shape = Shape.over(drained, "standings", scope="range")
    shape.settle(shape.source(max_records=300), rounds=2)
    verified = shape.backfill(Mode.VERIFY)
    assert verified.outcome == "different"
    assert "cut_dependent: " in verified.why
    assert "write `scope: interval`" in verified.why


@pytest.mark.verify
@pytest.mark.parametrize(("name", "most"), [("sessions", 300), ("pauses", 600)])
def test_a_call_for_one_interval_reads_as_far_around_it_as_declared(drained: Drained, name: str, most: int) -> None:
    shape = Shape.over(drained, name, scope="interval")
    shape.settle(shape.source(max_records=most), rounds=2)
    assert differences(name, shape.rows(), shape.settled(expected(name, FIRST, LAST))) == []
    verified = shape.backfill(Mode.VERIFY, SOME)
    assert (verified.outcome, verified.why) == ("identical", "")


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "declared", "conviction"),
    [("by_order", {}, "order_dependent"), ("pauses", {"lookback": "5 minutes"}, "lookback_too_short")],
)
def test_order_and_reach_are_varied_although_the_cut_is_not(
    drained: Drained, name: str, declared: dict[str, str], conviction: str
) -> None:
    shape = Shape.over(drained, name, scope="interval", **declared)
    shape.settle(shape.source(max_records=600), rounds=2)
    verified = shape.backfill(Mode.VERIFY, SOME)
    assert verified.outcome == "different"
    assert f"{conviction}: " in verified.why
