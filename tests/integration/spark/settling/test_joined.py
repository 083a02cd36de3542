"""Pipelines over two topics: joined and united, settled, verified and corrected, against pandas."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import append_entry
from sluice.delta.table import ensure_table
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import StreamEntry
from sluice.intervals.reach import Reach
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.sinks.raw import raw_rows, raw_writer
from sluice.specs.expectations.model import Expectation, ExpectationsSpec
from tests.integration.spark.backfill.backfills import FIRST, LAST, Drained
from tests.integration.spark.settling.half_read import half_read
from tests.integration.spark.settling.shape import Shape
from tests.shapes import joined, sql
from tests.shapes.joined_oracle import expected
from tests.shapes.joined_specs import JOINED, joined_pipeline
from tests.shapes.oracle import differences
from tests.shapes.specs import IN_SQL
from tests.shapes.weather import TOPIC, topic, values, weather

MAY_BE_EMPTY = ExpectationsSpec(
    name="rare",
    pipeline="rare",
    may_be_empty=True,
    expectations=(Expectation(expect="expect_column_values_to_not_be_null", kwargs={"column": "flight_id"}),),
)
_SCHEMA = "_partition int, _value binary, _offset long, _timestamp timestamp"


@pytest.fixture(autouse=True)
def shapes_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.joined", joined)
    monkeypatch.setitem(sys.modules, "transforms", sql)


@pytest.fixture
def both(drained: Drained, tmp_path: Path) -> Drained:
    """A drained state with the raw tables of the flights and of the weather."""
    own = drained.with_catalog(topics={**drained.project.catalog.topics, TOPIC: topic(tmp_path / "weather")})
    append_weather(own, weather(FIRST, LAST))
    return own


def append_weather(drained: Drained, table: pd.DataFrame) -> None:
    """Let the raw stream of the weather store what follows on what it holds."""
    project, spark = drained.project, drained.spark
    folder, kafka = project.folder.table("weather_raw"), KafkaTopic(("nowhere:9092",), TOPIC, "an-id")
    ends = dict(project.tables.raw_position(TOPIC).reach.offsets)
    begun, records = dict(ends), []
    for (partition, value), published in zip(values(table), table["published"], strict=True):
        offset = ends.get(f"{TOPIC}/{partition}", 0)
        ends[f"{TOPIC}/{partition}"] = offset + 1
        records.append((partition, bytearray(value), offset, published.to_pydatetime()))
    topic_spec = project.catalog.topics[TOPIC]
    stored = raw_rows(_read(spark, records), topic_spec)
    ensure_table(folder, stored.schema.json())
    write_deltalake(str(folder), stored.toArrow(), mode="append")
    append_entry(folder, StreamEntry(raw_writer(kafka), 1, "l", len(begun), begun, ends, times=topic_spec.value.times))


def _read(spark: SparkSession, records: list[tuple[object, ...]]) -> object:
    nothing = F.lit(None).cast("array<struct<key: string, value: binary>>")
    frame = spark.createDataFrame(records, _SCHEMA)
    return frame.withColumns({"_topic_id": F.lit("an-id"), "_key": F.lit(None).cast("binary"), "_headers": nothing})


def shape_over(drained: Drained, name: str, **declared: dict[str, str]) -> Shape:
    return Shape.of_pipeline(drained, joined_pipeline(name, **declared))


@pytest.mark.verify
@pytest.mark.parametrize("name", JOINED)
def test_every_shape_over_two_topics_is_settled_verified_corrected_and_tried(both: Drained, name: str) -> None:
    may_be_empty = both.with_catalog(expectations={name: MAY_BE_EMPTY.model_copy(update={"pipeline": name})})
    shape = shape_over(may_be_empty if name == "joined_anti" else both, name)
    shape.settle(shape.source(max_records=1200))
    settled = shape.settled(expected(name, FIRST, LAST))
    assert len(settled) > 50
    assert differences(name, shape.rows(), settled) == []
    verified = shape.backfill(Mode.VERIFY)
    assert (verified.outcome, verified.why) == ("identical", "")
    assert verified.report is not None
    assert verified.report.cross_check == (CrossCheck(8) if name.endswith(IN_SQL) else None)
    corrected = shape.backfill(Mode.CORRECT)
    assert (corrected.outcome, corrected.why) == ("explained", "")
    with_late = shape.settled(expected(name, FIRST, LAST, with_late=True))
    assert differences(name, with_late, settled) != []
    assert differences(name, shape.rows(), with_late) == []
    tried = shape.backfill(Mode.TRY)
    assert (tried.outcome, tried.why) == ("identical", "")


def test_a_topic_of_which_records_are_unread_holds_the_other(both: Drained) -> None:
    shape = shape_over(both, "joined_left")
    inputs = shape.source()
    known = inputs.sources[TOPIC].listed_ends()
    more = Reach({**known.offsets, f"{TOPIC}/7": 1}, known.topics)
    held = inputs.with_sources(lambda s: replace(s, ends=lambda: more) if s.source.name == TOPIC else s)
    shape.settle(held)
    assert shape.ledger.closed_until is None
    shape.settle(inputs, generation=2)
    assert shape.ledger.closed_until is not None


@pytest.mark.verify
def test_records_of_either_topic_that_came_after_their_interval_was_settled_mark_it(both: Drained) -> None:
    shape = shape_over(both, "joined_left")
    shape.settle(half_read(shape.source()))
    shape.settle(generation=2)
    measured = weather(FIRST, LAST)
    again = measured[measured["measured"] == measured["measured"].iloc[0]].assign(wind=99.0)
    append_weather(both, again.assign(late=False))
    shape.settle(generation=3)
    marked = {start for start, row in shape.ledger.rows.items() if row.dirty}
    rows, wanted = shape.rows(), shape.settled(expected("joined_left", FIRST, LAST))
    wrong = {start for start in shape.ledger.rows if differences("", _of(rows, start), _of(wanted, start))}
    assert wrong
    assert wrong <= marked
    repaired = shape.backfill(Mode.RECOMPUTE)
    assert (repaired.outcome, repaired.why) == ("recomputed", "")
    assert not any(row.dirty for row in shape.ledger.spans)


def _of(rows: pd.DataFrame, start: object) -> pd.DataFrame:
    return rows[rows["at"].dt.floor("h") == pd.Timestamp(str(start))]


@pytest.mark.verify
def test_a_lookback_that_is_too_short_is_convicted(both: Drained) -> None:
    shape = shape_over(both, "joined_left", weather={"lookback": "40 minutes"})
    shape.settle(shape.source(max_records=300))
    verified = shape.backfill(Mode.VERIFY)
    assert verified.outcome == "different"
    assert verified.report is not None
    assert any("lookback" in parity.why for parity in verified.report.intervals)
