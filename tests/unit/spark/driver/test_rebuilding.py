"""Where a stream begins again whose state does not fit its code: at open intervals, if the topic still holds them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta.log import append_entry
from sluice.intervals.entries import ExaminedSource, SettleEntry, StreamEntry
from sluice.spark.driver.rebuilding import OPEN_INTERVALS, new_beginning
from sluice.spark.records.pipeline import PipelineCode, sources_of
from sluice.specs.model.outputs import LatestOutput
from sluice.streams.position.epochs import Epoch
from sluice.topics.administration import TopicExtent
from tests.twins.departures_project import DeparturesProject, hour

NOW = datetime(2026, 11, 26, tzinfo=UTC)
RECORDS = [("t", 0, 0, 1), ("t", 0, 1, 5), ("t", 0, 2, 3), ("t", 0, 3, 6), ("t", 1, 0, 2), ("former", 1, 9, 7)]
"""Topic, partition, offset and the hour of the event."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    """A raw table with those records; settled are the first four hours."""
    place = DeparturesProject.create(tmp_path, monkeypatch)
    topics, partitions, offsets, hours = zip(*RECORDS, strict=True)
    raw = place.project.folder.table("flights_raw")
    columns = {
        "topic_id": pa.array(topics),
        "partition": pa.array(partitions, pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
        "event_time": pa.array([hour(number) for number in hours], pa.timestamp("us", "UTC")),
    }
    write_deltalake(str(raw), pa.table(columns))
    append_entry(raw, StreamEntry("raw_flights:t:0", 1, "l", 1, {}, {"flights/0": 4, "flights/1": 1}))
    place.commit(
        SettleEntry(
            "settle:departures", 1, "a", hour(0), hour(4), {"flights": ExaminedSource({"flights/0": 4}, ("t",))}
        )
    )
    return place


def beginning(
    place: DeparturesProject, held: Mapping[int, int], *, topic_id: str = "t", intervals: bool = True
) -> Epoch | None:
    project = place.project
    pipeline = project.catalog.pipelines["departures"]
    if not intervals:
        output = LatestOutput(kind="latest", table="l", keys=("hour",))
        pipeline = pipeline.model_copy(update={"outputs": (output,), "output": None})
    code = PipelineCode(pipeline, sources_of(pipeline, project.catalog.topics, {}), {}, "0123456789")
    extent = TopicExtent(topic_id, held, {0: 4, 1: 1})
    return new_beginning(project, code, {"flights": extent}, number=3, now=NOW)


def test_it_is_the_first_record_of_an_open_interval_though_older_ones_follow(place: DeparturesProject) -> None:
    found = beginning(place, {0: 0, 1: 0})
    assert found is not None
    assert found.offsets == {"flights/0": 1, "flights/1": 1}
    assert (found.number, found.topic_id, found.to, found.at) == (3, "t", OPEN_INTERVALS, NOW)
    assert "does not fit the code 01234567" in found.why


def test_a_partition_that_the_raw_table_does_not_know_begins_with_its_first_record(place: DeparturesProject) -> None:
    found = beginning(place, {0: 0, 1: 0, 2: 7})
    assert found is not None
    assert found.offsets["flights/2"] == 7


def test_records_that_the_topic_does_not_hold_any_more_are_not_passed_over(place: DeparturesProject) -> None:
    assert beginning(place, {0: 1, 1: 1}) is not None
    assert beginning(place, {0: 2, 1: 0}) is None


def test_before_anything_is_settled_it_is_the_topics_beginning(place: DeparturesProject) -> None:
    place.project.folder.table("departures").rename(place.state / "gone")
    place.commit()
    found = beginning(place, {0: 2, 1: 0})
    assert found is not None
    assert found.offsets == {"flights/0": 2, "flights/1": 0}


def test_offsets_of_a_former_topic_are_nobodys(place: DeparturesProject) -> None:
    found = beginning(place, {0: 0, 1: 0}, topic_id="again")
    assert found is not None
    assert found.offsets == {"flights/0": 0, "flights/1": 0}


def test_without_an_interval_table_nothing_bounds_the_state(place: DeparturesProject) -> None:
    assert beginning(place, {0: 0, 1: 0}, intervals=False) is None
