"""What streams and batches read and write, from the shipped specs and real Delta logs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType
from openlineage.client.serde import Serde

from sluice.delta.log import append_entry
from sluice.delta.table import ensure_table
from sluice.intervals.entries import BackfillEntry, Content, StreamEntry
from sluice.intervals.writers import writer_id
from sluice.lineage.results import Published
from sluice.project.lineage_map import LineageMap
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import DeadLettersOutput, LatestOutput, RowsOutput, TopicOutput
from sluice.specs.model.sources import StaticInput
from tests.twins.project import InMemoryProject
from tests.unit.lineage.subjects import BEGIN, attempt, backfill

SCHEMA = Schema([Field("hour", PrimitiveType("timestamp")), Field("carrier", PrimitiveType("string"))]).to_json()
CATALOG = load_catalog(Path(__file__).parents[3] / "include")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    monkeypatch.delenv("OPENLINEAGE_NAMESPACE", raising=False)


def mapped(pipeline: PipelineSpec | None = None) -> LineageMap:
    pipelines = CATALOG.pipelines if pipeline is None else {pipeline.name: pipeline}
    return LineageMap(cast(Project, InMemoryProject(Catalog(topics=CATALOG.topics, pipelines=pipelines))))


def written_at(version_of: int) -> StreamEntry:
    return StreamEntry(writer_id("departures", "topic-id"), version_of, "a", 1, {}, {"flights/0": 5})


def test_each_stream_of_a_unit_has_what_it_reads_and_writes() -> None:
    jobs = {job.stream: job for job in mapped().streams("flights")}
    assert set(jobs) == {"raw_flights", "departures", "departures_live"}
    assert {topic.name for job in jobs.values() for topic in job.topics} == {"flights"}
    written = {stream: [Path(each.name).name for each in job.outputs] for stream, job in jobs.items()}
    assert written == {
        "raw_flights": ["flights_raw"],
        "departures": ["departures"],
        "departures_live": ["departures_live"],
    }
    assert [Path(each.name).name for each in jobs["departures"].static] == ["airlines.csv"]
    assert jobs["raw_flights"].static == ()
    assert {job.namespace for job in jobs.values()} == {"sluice.local"}
    assert jobs["departures"].owner == CATALOG.pipelines["departures"].owner
    assert mapped().streams("trains") == []


def test_a_namespace_that_is_set_for_everybody_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "prod")
    assert mapped().namespace == "prod"


def test_outputs_of_every_kind_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CONNECTION_SERVING", "postgresql+psycopg://ada:secret@db/serving")
    outputs = (
        RowsOutput(kind="rows", table="delays"),
        LatestOutput(kind="latest", table="newest", keys=("carrier",), store="postgres", connection="serving"),
        LatestOutput(kind="latest", table="hidden", keys=("carrier",), store="postgres", connection="unknown"),
        TopicOutput(kind="topic", topic="delayed", keys=("carrier",)),
        DeadLettersOutput(kind="dead_letters", topic="dead"),
    )
    update = {"output": None, "outputs": outputs, "name": "delays"}
    found = mapped(CATALOG.pipelines["departures"].model_copy(update=update))
    jobs = {job.stream: job for job in found.streams("flights")}
    named = {(each.namespace, each.name) for each in jobs["delays"].outputs}
    assert named == {
        ("file", str(settings().folder.table("delays"))),
        ("postgres://db:5432", "serving.public.newest"),
        ("kafka://broker-1:9092", "delayed"),
    }
    assert [each.name for each in jobs["delays_dead"].outputs] == ["dead"]
    assert jobs["delays_dead"].static == ()  # it knows no transform


def test_a_schema_is_read_when_there_is_a_table_and_again_when_asked() -> None:
    found, folder = mapped(), settings().folder.table("departures")

    def columns(*, refresh: bool = False) -> list[list[str]]:
        job = next(job for job in found.streams("flights", refresh=refresh) if job.stream == "departures")
        schema = Serde.to_dict(job.outputs[0])["facets"].get("schema")
        return [] if schema is None else [[field["name"] for field in schema["fields"]]]

    assert columns() == []
    ensure_table(folder, SCHEMA)
    assert columns() == [["hour", "carrier"]]
    ensure_table(folder, Schema([*Schema.from_json(SCHEMA).fields, Field("n", PrimitiveType("long"))]).to_json())
    assert columns() == [["hour", "carrier"]]
    assert columns(refresh=True) == [["hour", "carrier", "n"]]


def test_the_version_of_a_table_is_the_attempts_own() -> None:
    folder = settings().folder.table("departures")
    ensure_table(folder, SCHEMA)
    made = append_entry(folder, written_at(3))
    append_entry(folder, BackfillEntry("other", "correct", "ada", "", {}, {}, {}, "", ""))
    assert mapped().versions_of("departures", attempt(generation=3)) == {str(folder): made}
    assert mapped().versions_of("departures", attempt(generation=4)) == {}
    assert mapped().versions_of("raw_flights", attempt(generation=3)) == {}


def test_what_a_backfill_has_published_is_summed_over_its_commits() -> None:
    folder, asked = settings().folder.table("departures"), backfill()
    ensure_table(folder, SCHEMA)

    def publish(of: str, first: int, *rows: int) -> int:
        content = {BEGIN + timedelta(hours=first + n): Content(count, "0") for n, count in enumerate(rows)}
        return append_entry(folder, BackfillEntry(of, "correct", "ada", "", {}, {}, content, "", ""))

    assert mapped().published(asked) is None
    publish(asked.id, 0, 10, 20)
    last = publish(asked.id, 2, 5)
    publish("another", 3, 99)
    assert mapped().published(asked) == Published(35, last)


def test_what_an_earlier_process_has_published_is_not_this_runs() -> None:
    folder, asked = settings().folder.table("departures"), backfill()
    ensure_table(folder, SCHEMA)
    append_entry(folder, BackfillEntry(asked.id, "correct", "ada", "", {}, {}, {BEGIN: Content(9, "0")}, "", ""))
    resumed = backfill(claimed_at=BEGIN + timedelta(days=36_500))
    assert mapped().published(resumed) is None


def test_a_batch_reads_the_raw_table_and_static_files() -> None:
    job = mapped().batch("departures")
    assert [Path(each.name).name for each in job.sources] == ["flights_raw", "airlines.csv"]
    assert (job.pipeline, Path(job.table.name).name, job.parent) == ("departures", "departures", None)


def test_a_static_input_of_a_table_or_a_database_is_read_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"columns": {"carrier": "string", "name": "string"}, "reload": "1 min"}
    declared = {
        "table": {"table": "flights_raw", **columns},
        "database": {"table": "airlines", "connection": "shop", **columns},
        "query": {"query": "SELECT 1", "connection": "shop", **columns},
        "unknown": {"table": "airlines", "connection": "other", **columns},
    }
    monkeypatch.setenv("SLUICE_CONNECTION_SHOP", "postgresql+psycopg://user:secret@db/shop")
    static = {name: StaticInput.model_validate(each) for name, each in declared.items()}
    job = mapped(CATALOG.pipelines["departures"].model_copy(update={"static": static})).batch("departures")
    names = [(Path(each.name).name, each.namespace) for each in job.sources[1:]]
    assert names == [("flights_raw", "file"), ("shop.public.airlines", "postgres://db:5432")]
