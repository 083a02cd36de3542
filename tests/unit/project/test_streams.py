"""How far the streams of a topic have read, as their checkpoints say it; and the record of growths of a project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from sluice.delta.log import append_entry
from sluice.delta.table import ensure_table
from sluice.intervals.entries import AttemptEntry
from sluice.project.streams import tables_of_unit
from tests.suites.order_breaks_suite import INTENT
from tests.twins.departures_project import DeparturesProject
from tests.unit.specs.bench import PIPELINE_FILE, TRANSFORM_FILE, sound_project
from tests.unit.specs.rules.test_lanes import REALTIME, TRANSFORM
from tests.unit.specs.rules.test_sinks import project_with_sink

SENT = """\
- {kind: topic, topic: news, keys: [shop], create: {partitions: 2}}
- {kind: dead_letters, topic: refused, create: {partitions: 2}}
- {kind: latest, table: newest, keys: [shop]}
- {kind: latest, table: served, keys: [shop], store: postgres, connection: serving}
"""
STREAMS = ("departures", "departures_live", "raw_flights")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    return DeparturesProject.create(tmp_path, monkeypatch)


def read(place: DeparturesProject, stream: str, *, committed: int, planned: int) -> Path:
    """Play a stream that has committed some batches and planned some more, each of one record."""
    folder = place.project.streams.checkpoint(stream).folder
    for kind, count in (("offsets", planned), ("commits", committed)):
        (folder / kind).mkdir(parents=True)
        for batch in range(count):
            text = f'v1\n{{"batchWatermarkMs":0}}\n{json.dumps({"flights": {"0": batch + 1}})}'
            (folder / kind / str(batch)).write_text(text if kind == "offsets" else "v1\n{}")
    return folder


def test_every_stream_of_the_topic_has_a_position_also_one_that_never_ran(place: DeparturesProject) -> None:
    read(place, "departures", committed=3, planned=4)
    found = place.project.streams.positions("flights")
    assert sorted(found) == list(STREAMS)
    assert found == {"departures": {"flights/0": 3}, "departures_live": {}, "raw_flights": {}}


def test_a_checkpoint_that_cannot_be_read_is_an_unknown_position(place: DeparturesProject) -> None:
    folder = read(place, "departures", committed=2, planned=2)
    (folder / "offsets" / "1").write_text("nonsense")
    assert place.project.streams.positions("flights")["departures"] is None
    assert place.project.streams.keeps_state("departures") is None


def test_a_topic_that_nobody_reads_has_no_positions(place: DeparturesProject) -> None:
    assert place.project.streams.positions("news") == {}


def test_a_checkpoint_shows_state_once_a_batch_was_committed(place: DeparturesProject) -> None:
    assert place.project.streams.keeps_state("departures") is None
    folder = read(place, "departures", committed=1, planned=1)
    assert place.project.streams.keeps_state("departures") is False
    (folder / "state").mkdir()
    assert place.project.streams.keeps_state("departures") is True


def test_growths_are_on_record_in_the_control_database_of_the_deployment(place: DeparturesProject) -> None:
    place.project.records.order_breaks().intend(INTENT)
    assert list(place.project.records.order_breaks().of("flights")) == [INTENT]


def test_generations_begin_above_the_newest_that_a_table_of_the_unit_names(place: DeparturesProject) -> None:
    streams = place.project.streams
    (unit,) = (name for name, unit in place.project.catalog.units().items() if "raw_flights" in unit.streams)
    life = streams.life(unit)
    assert (life.marked(unit), life.marked("nobody's")) == (0, 0)
    for table, generation in (("departures", 4), ("flights_raw", 6), ("others", 9)):
        folder = place.project.folder.table(table)
        ensure_table(folder, Schema([Field("n", PrimitiveType("long"))]).to_json())
        append_entry(folder, AttemptEntry(f"{table}:id:0", generation))
    assert life.marked(unit) == 6


def test_every_table_in_which_a_driver_leaves_its_generation_is_known(tmp_path: Path) -> None:
    bench = project_with_sink(tmp_path / "several")
    bench.edit(PIPELINE_FILE, "- kind: sink", f"{SENT}- kind: sink")
    catalog = bench.scan().catalog
    assert tables_of_unit(catalog, catalog.units()["shop"]) == {
        *("orders_raw", "sales", "newest"),
        *("crm_deliveries", "news_deliveries", "refused_deliveries"),
    }


def test_so_are_those_of_a_unit_that_only_sends(tmp_path: Path) -> None:
    bench = sound_project(tmp_path / "realtime")
    bench.write(PIPELINE_FILE, REALTIME)
    bench.write(TRANSFORM_FILE, TRANSFORM)
    catalog = bench.scan().catalog
    assert tables_of_unit(catalog, catalog.units()["quick"]) == {"large_orders_deliveries"}
