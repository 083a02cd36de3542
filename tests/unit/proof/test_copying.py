"""Copies of projects with several topics, contracts and static inputs are sound, and what they are sent fits them."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.proof.eligibility import refuse_ineligible
from sluice.proof.generation.made import RecordFate
from sluice.proof.running.copying import copy_project
from sluice.proof.running.load import load_of
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.run import own_names
from sluice.settings import Settings, settings
from sluice.static.reading import read_static_input
from sluice.topics.declared_time import read_time
from sluice.topics.declared_value import read_fields
from tests.proof_projects import COUNTED, FORMATS, JOINED, ORDERS, UNITED, of_format, two_topics


def opened(home: Path, tmp_path: Path) -> Project:
    place = Settings(home=home, state=tmp_path / "state")
    write_endpoints(place.folder, Endpoints(("localhost:1",), airflow_url=""))
    return Project.open_strict(place)


def copied(project: Project, pipeline: str) -> tuple[ProofPlace, Project]:
    spec = project.catalog.pipelines[pipeline]
    own = own_names("1234", (*spec.topics, *(each.topic for each in spec.written_topics)))
    read = {topic: own[topic] for topic in spec.topics}
    filled = {each.topic: own[each.topic] for each in spec.written_topics}
    place = ProofPlace(project.folder.proofs / "1234", read, pipeline, filled)
    place.record()
    copy_project(project, spec, place)
    return place, place.open(project.settings)


@pytest.mark.parametrize("pipeline", [JOINED, UNITED, COUNTED])
def test_a_pipeline_over_two_topics_reads_two_of_its_own(tmp_path: Path, pipeline: str) -> None:
    project = opened(two_topics(tmp_path / "home"), tmp_path)
    spec = project.catalog.pipelines[pipeline]
    refuse_ineligible(spec, project.catalog.topics)
    _, copy = copied(project, pipeline)
    own = copy.catalog.pipelines[pipeline]
    assert {name: source.topic for name, source in own.topic_sources.items()} == {
        "shown": "prove_1234_ads_shown",
        "clicked": "prove_1234_ads_clicked",
    }
    for name, source in own.topic_sources.items():
        declared = spec.topic_sources[name]
        assert (source.time, source.lookback, source.columns) == (declared.time, declared.lookback, declared.columns)
    assert own.static.keys() == spec.static.keys()
    unit = copy.catalog.unit(own.driver)
    raw = {f"raw_{topic}" for topic in own.topics}
    assert raw <= set(unit.streams)
    assert {copy.catalog.topics_of(stream) for stream in raw} == {(topic,) for topic in own.topics}


@pytest.mark.parametrize("name", FORMATS)
def test_a_topic_in_every_format_is_copied_with_its_contract_and_can_be_made(tmp_path: Path, name: str) -> None:
    project = opened(of_format(tmp_path / "home", name), tmp_path)
    spec, value = project.catalog.pipelines[ORDERS], project.catalog.topics["orders"].value
    refuse_ineligible(spec, project.catalog.topics)
    _, copy = copied(project, ORDERS)
    (own,) = copy.catalog.topics.values()
    assert own.value.written == value.written
    assert own.value == value
    load = load_of(project, spec, rate=20, seconds=10)
    made = [load.further(number)[1] for number in range(1_000)]
    assert len({each.value for each in made}) == len(made)
    fates = Counter(each.fate for each in made)
    assert fates[RecordFate.LATE] == fates[RecordFate.QUARANTINED] == 25


def test_records_of_two_topics_take_turns_and_belong_together(tmp_path: Path) -> None:
    project = opened(two_topics(tmp_path / "home"), tmp_path)
    spec = project.catalog.pipelines[JOINED]
    load = load_of(project, spec, rate=20, seconds=10)
    assert not load.is_live
    first = dict(load.first())
    turns = [load.further(number) for number in range(6)]
    assert [topic for topic, _ in turns] == ["ads_shown", "ads_clicked"] * 3
    shown, clicked = (project.catalog.topics[topic].value for topic in ("ads_shown", "ads_clicked"))
    one, two = (read_fields(turns[place][1].value, value) for place, value in ((4, shown), (5, clicked)))
    assert one is not None
    assert two is not None
    assert one["impression"] == two["impression"] == "impression-3"
    assert read_time(one["shown_at"]) == read_time(two["clicked_at"], clicked.fields["clicked_at"]) == load.happens(3)
    assert first.keys() == {"ads_shown", "ads_clicked"}
    begin, now = load.happens(0), datetime.now(UTC)
    assert load.happens(100) - begin == timedelta(hours=6)
    assert load.happens(100 * 11) + timedelta(hours=3) < now
    assert begin.hour == begin.minute == 0
    renamed = load.named({"ads_shown": "a", "ads_clicked": "b"})
    assert renamed.further(1)[0] == "b"


def test_a_file_is_joined_as_it_is_and_a_table_as_it_was(tmp_path: Path) -> None:
    project = opened(two_topics(tmp_path / "home"), tmp_path)
    place, copy = copied(project, JOINED)
    static = copy.catalog.pipelines[JOINED].static["campaigns"]
    assert static == project.catalog.pipelines[JOINED].static["campaigns"]
    assert read_static_input(static, copy.static_places).num_rows == 3
    assert (place.root / "project/include/data/campaigns.csv").read_text(encoding="utf-8").startswith("campaign,name")


def test_a_table_of_the_project_is_kept_in_a_file(tmp_path: Path) -> None:
    declared = {"table": "ads_shown_raw", "reload": "10 min", "columns": {"campaign": "string", "name": "string"}}
    home = two_topics(tmp_path / "home", table=declared)
    project = opened(home, tmp_path)
    rows = pa.table({"campaign": ["north", "south"], "name": ["Up", "Down"], "more": [1, 2]})
    write_deltalake(str(project.folder.table("ads_shown_raw")), rows)
    _, copy = copied(project, JOINED)
    static = copy.catalog.pipelines[JOINED].static["campaigns"]
    assert (static.form, static.table, static.reload) == ("parquet", None, timedelta(minutes=10))
    write_deltalake(str(project.folder.table("ads_shown_raw")), rows, mode="append")
    assert read_static_input(static, copy.static_places).to_pylist() == [
        {"campaign": "north", "name": "Up"},
        {"campaign": "south", "name": "Down"},
    ]


def test_long_names_of_topics_stay_different() -> None:
    long = [f"{'events_' * 8}{end}" for end in ("a", "b")]
    names = own_names("0123abcd", [*long, "short"])
    assert len(set(names.values())) == 3
    assert all(name.startswith("prove_0123abcd_") and len(name) <= 63 for name in names.values())
    assert names["short"] == "prove_0123abcd_short"


EXAMPLES = sorted(path.parent for path in (settings().home / "examples").glob("*/include"))


@pytest.mark.parametrize("home", EXAMPLES, ids=lambda home: home.name)
def test_every_example_over_topics_can_be_proven_in_a_sound_copy(tmp_path: Path, home: Path) -> None:
    shutil.copytree(home, tmp_path / "home", ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("deployments", "access"):
        shutil.copytree(settings().home / "include" / part, tmp_path / "home/include" / part, dirs_exist_ok=True)
    project = opened(tmp_path / "home", tmp_path)
    pipelines = {name: spec for name, spec in project.catalog.pipelines.items() if not spec.table_sources}
    assert pipelines
    for name, spec in pipelines.items():
        refuse_ineligible(spec, project.catalog.topics)
        place, copy = copied(project, name)
        assert list(copy.catalog.pipelines) == [name]
        load = load_of(project, spec, rate=50, seconds=30)
        made = [load.further(number) for number in range(200)]
        assert len(set(made)) == len(made)
        place.release(keep=False)
        place.root.rmdir()
