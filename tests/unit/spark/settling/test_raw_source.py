"""How many intervals one computation takes, from what the log says of the raw table's files."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

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
