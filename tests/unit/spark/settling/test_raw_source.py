"""How many intervals one computation takes, from what the log says of the raw table's files."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.intervals.alignment import Interval
from sluice.intervals.reach import RawPosition, Reach
from sluice.settling.rules import SettlingRules
from sluice.spark.settling import raw_source
from sluice.spark.settling.computation import RawComputation
from sluice.spark.settling.raw_source import RawTableSource
from tests.shapes.specs import pipeline_of
from tests.twins.departures_project import hour

PINNED = RawPosition(1, Reach({"flights/0": 1000}))


def computation_over(
    monkeypatch: pytest.MonkeyPatch, *files: tuple[int, int, int], lookback: int = 0
) -> RawComputation:
    """Return a source whose raw table has files of (first hour, last hour, records)."""
    firsts, lasts, records = zip(*files, strict=True)
    kind = pa.timestamp("us", tz="UTC")
    columns = {
        "min.event_time": pa.array([hour(first) for first in firsts], kind),
        "max.event_time": pa.array([hour(last) for last in lasts], kind),
        "num_records": pa.array(records),
    }
    monkeypatch.setattr(raw_source, "_statistics", lambda _folder, _version: pa.table(columns))
    pipeline = pipeline_of("pauses")
    rules = replace(SettlingRules.of(pipeline), lookback=timedelta(hours=lookback), lookahead=timedelta())
    nothing = cast(Any, None)
    source = RawTableSource(nothing, Path("raw"), nothing, rules, nothing, nothing)
    code = cast(Any, SimpleNamespace(pipeline=pipeline))
    return RawComputation({"flights": source}, code, Path("staging"), max_records=250)


@pytest.mark.parametrize("lookback", [0, 6])
@pytest.mark.parametrize(
    ("files", "until"),
    [
        ([(0, 10, 1000)], 2),
        ([(0, 10, 100)], 10),
        ([(0, 1, 200), (1, 2, 40), (2, 3, 40)], 2),
        ([(0, 1, 900)], 1),  # one interval at least
        ([(-20, -10, 900), (0, 10, 100)], 10),  # what lies before is not counted
        ([(3, 3, 900)], 3),  # a file of one instant
    ],
)
def test_a_computation_takes_as_many_intervals_as_hold_few_enough_records(
    monkeypatch: pytest.MonkeyPatch, files: list[tuple[int, int, int]], until: int, lookback: int
) -> None:
    computation = computation_over(monkeypatch, *files, lookback=lookback)
    assert computation.bounded({"flights": PINNED}, Interval(hour(0), hour(10))) == Interval(hour(0), hour(until))


FAR = 10**9
"""Where a partition begins whose first records are gone."""


def source_over(folder: Path, offsets: dict[tuple[str, int], range]) -> tuple[RawTableSource, RawPosition]:
    """Return a source that examines a hundred records at once of a raw table, which holds these of each partition."""
    for (topic, partition), own in offsets.items():
        rows = [{"topic_id": topic, "partition": partition, "offset": offset} for offset in own]
        schema = pa.schema({"topic_id": pa.string(), "partition": pa.int32(), "offset": pa.int64()})
        write_deltalake(folder, pa.Table.from_pylist(rows, schema), mode="append")
    newest = max(topic for topic, _ in offsets)
    ends = {f"flights/{number}": own.stop for (topic, number), own in offsets.items() if topic == newest}
    reach = Reach(ends, tuple(sorted({topic for topic, _ in offsets})))
    nothing = cast(Any, None)
    source = RawTableSource(nothing, folder, nothing, nothing, nothing, nothing, max_examined=100)
    return source, RawPosition(len(offsets) - 1, reach)


def rounds(source: RawTableSource, pinned: RawPosition, since: Reach) -> list[dict[str, int]]:
    """Return the ends of each examination, up to all that is pinned."""
    ends = list[dict[str, int]]()
    while not since.covers(pinned.reach):
        since = source._first_of(pinned, since).reach
        ends.append(dict(since.offsets))
        assert len(ends) < 20, "it steps through offsets that were never there"
    return ends


def test_partitions_that_begin_elsewhere_are_examined_from_their_first_records_on(tmp_path: Path) -> None:
    source, pinned = source_over(tmp_path / "raw", {("id", 0): range(FAR, FAR + 120), ("id", 1): range(90)})
    assert rounds(source, pinned, Reach({})) == [
        {"flights/0": FAR + 50, "flights/1": 50},
        {"flights/0": FAR + 100, "flights/1": 90},
        {"flights/0": FAR + 120, "flights/1": 90},
    ]


def test_a_partition_that_was_added_begins_with_its_first_record_and_an_empty_one_is_read(tmp_path: Path) -> None:
    source, pinned = source_over(tmp_path / "raw", {("id", 0): range(FAR, FAR + 10), ("id", 1): range(FAR, FAR + 60)})
    pinned = replace(pinned, reach=replace(pinned.reach, offsets={**pinned.reach.offsets, "flights/2": FAR}))
    assert rounds(source, pinned, Reach({"flights/0": FAR + 5}, ("id",))) == [
        {"flights/0": FAR + 10, "flights/1": FAR + 33, "flights/2": FAR},
        {"flights/0": FAR + 10, "flights/1": FAR + 60, "flights/2": FAR},
    ]


def test_offsets_of_a_topic_that_was_deleted_say_nothing_of_the_newest(tmp_path: Path) -> None:
    source, pinned = source_over(tmp_path / "raw", {("a", 0): range(10), ("b", 0): range(FAR, FAR + 150)})
    assert rounds(source, pinned, Reach({})) == [{"flights/0": FAR + 100}, {"flights/0": FAR + 150}]
