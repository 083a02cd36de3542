"""A settler's batch that waits for a raw table says so, and gives up when it is told to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sluice.errors import NotReadyError
from sluice.intervals.reach import RawPosition, Reach
from sluice.settling.ports import SettledState
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.settling import stream
from sluice.spark.settling.stream import SettledTopic, SettleSink, SettlingContext
from sluice.streams.position.checkpoint import Checkpoint
from tests.shapes.specs import pipeline_of
from tests.twins.clock import ManualClock


def test_a_batch_waits_until_the_raw_table_holds_it_or_the_driver_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waited: list[bool] = []

    class Watching(ManualClock):
        """The driver looks at the batch while that waits, and stops after a while."""

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            waited.append(sink.waits())
            if len(waited) == 3:
                sink.give_up()

    planned = SimpleNamespace(end=SimpleNamespace(offsets={"flights/0": 10}))
    monkeypatch.setattr(stream, "SystemClock", Watching)
    monkeypatch.setattr(stream, "planned_batch", lambda _checkpoint, _batch_id: planned)
    monkeypatch.setattr(stream, "raw_position", lambda _folder: RawPosition(1, Reach({"flights/0": 5}, ("an id",))))
    monkeypatch.setattr(stream, "has_commit_after", lambda _folder, _version: False)
    topic = SettledTopic(KafkaTopic(("broker:9092",), "flights", "an id"), tmp_path / "flights_raw")
    context = SettlingContext([topic], tmp_path / "pauses", cast(Any, None), tmp_path / "staging")
    code = cast(Any, SimpleNamespace(pipeline=pipeline_of("pauses"), code_hash="c0de"))
    table = cast(Any, SimpleNamespace(read=lambda: SettledState(0), check_fence=lambda: None))
    sink = SettleSink(code, context, Checkpoint(tmp_path / "checkpoint"), table, cast(Any, None), generation=1)
    assert not sink.waits()
    with pytest.raises(NotReadyError, match="the driver stops before pauses is settled"):
        sink(cast(Any, None), 0)
    assert waited == [True, True, True]
    assert not sink.waits()
