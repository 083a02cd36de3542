"""Loading: every fault of every file at its line, and what is sound stays usable."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sluice.errors import SpecError
from sluice.specs.load import load_catalog, scan
from sluice.specs.reading.document import parse_document
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.reading.kinds import Kind
from tests.unit.specs.bench import DEPLOYMENT_FILE, FEED_FILE, PIPELINE, PIPELINE_FILE, TOPIC, TOPIC_FILE, Bench


def test_the_specs_of_this_repository_are_sound() -> None:
    catalog = load_catalog(Path(__file__).parents[3] / "include", deployment="local")
    assert "flights" in catalog.topics
    assert "departures" in catalog.pipelines
    assert "flights" in catalog.feeds
    assert {"local", "compose"} <= catalog.deployments.keys()


def test_a_sound_project_has_no_fault(bench: Bench) -> None:
    found = bench.scan()
    assert found.faults == ()
    assert found.broken == {}
    assert found.catalog.units()["shop"].streams == ("raw_orders", "sales")


def test_all_faults_of_all_files_come_at_once_and_in_order(bench: Bench) -> None:
    bench.edit(TOPIC_FILE, "partitions: 2", "partitions: 0")
    bench.edit(TOPIC_FILE, "driver: shop", "drivr: shop")
    bench.edit(FEED_FILE, "topic: orders", "topic: nothing")
    with pytest.raises(SpecFaults) as raised:
        load_catalog(bench.include)
    places = [(fault.file, fault.line) for fault in raised.value.faults]
    assert places == [(FEED_FILE, 2), (TOPIC_FILE, 2), (TOPIC_FILE, 18)]
    assert "3 faults in the specs:" in str(raised.value)


def test_a_broken_pipeline_leaves_everything_else_usable(bench: Bench) -> None:
    bench.edit(PIPELINE_FILE, "driver: shop", "drivr: shop")
    found = bench.scan()
    assert found.catalog.pipelines == {}
    assert set(found.catalog.topics) == {"orders"}
    assert set(found.catalog.feeds) == {"replay"}
    assert set(found.broken) == {(Kind.PIPELINE, "sales")}
    assert found.broken["pipeline", "sales"] == found.faults  # type: ignore[index]


def test_what_names_a_broken_topic_is_broken_by_the_topics_faults(bench: Bench) -> None:
    bench.edit(TOPIC_FILE, "partitions: 2", "partitions: 0")
    found = bench.scan()
    (fault,) = found.faults
    assert found.broken == dict.fromkeys(
        [(Kind.TOPIC, "orders"), (Kind.PIPELINE, "sales"), (Kind.FEED, "replay")], (fault,)
    )
    assert found.catalog.units() == {}


def test_a_file_that_is_no_yaml_is_broken_under_its_own_name(bench: Bench) -> None:
    bench.write("include/pipelines/other.yaml", "a: [")
    found = bench.scan()
    assert set(found.broken) == {(Kind.PIPELINE, "other")}
    assert set(found.catalog.pipelines) == {"sales"}


@pytest.mark.parametrize("name", ["orders.yml", "orders.json", "orders"])
def test_a_file_that_would_silently_be_no_spec_is_a_fault(bench: Bench, name: str) -> None:
    bench.write(f"include/topics/{name}", "name: orders")
    (fault,) = bench.scan().faults
    assert str(fault).startswith(f"include/topics/{name}:1: is no topic spec.")


def test_notes_and_hidden_files_are_left_alone(bench: Bench) -> None:
    bench.write("include/topics/README.md", "Notes.")
    bench.write("include/topics/.orders.yaml.swp", "x")
    assert bench.scan().faults == ()


def test_a_folder_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    (fault,) = scan(tmp_path / "include").faults
    assert str(fault).startswith("include:1: there is no such folder.")


def test_the_deployment_of_the_settings_must_have_a_spec(bench: Bench) -> None:
    load_catalog(bench.include, deployment="prod")
    with pytest.raises(SpecError, match=r"SLUICE_DEPLOYMENT is 'prd'.*did you mean 'prod'\?"):
        load_catalog(bench.include, deployment="prd")


def test_a_value_of_a_secret_is_never_shown(bench: Bench) -> None:
    bench.edit(DEPLOYMENT_FILE, "client.id: shop", "ssl.key.password: 271828")
    (fault,) = bench.scan().faults
    assert "where text is needed" in fault.message
    assert "271828" not in str(fault)


def test_a_spec_that_is_no_file_yet_is_judged_beside_the_others(bench: Bench) -> None:
    other = TOPIC.replace("orders", "parcels").replace("driver: shop", "driver: parcels")
    unwritten = {(Kind.TOPIC, "parcels"): parse_document(other.encode(), "parcels.yaml")}
    found = scan(bench.include, unwritten=unwritten)
    assert (found.faults, sorted(found.catalog.topics)) == ((), ["orders", "parcels"])
    taken = other.replace("parcels_raw", "orders_raw")
    unwritten = {(Kind.TOPIC, "parcels"): parse_document(taken.encode(), "parcels.yaml")}
    assert {fault.file for fault in scan(bench.include, unwritten=unwritten).faults} == {TOPIC_FILE, "parcels.yaml"}
    assert bench.scan().faults == ()


@given(content=st.binary(max_size=300), kind=st.sampled_from(list(Kind)))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_no_bytes_make_the_loader_raise_anything_but_faults(bench: Bench, content: bytes, kind: Kind) -> None:
    bench.write(f"include/{kind.folder}/fuzzed.yaml", content)
    with pytest.raises(SpecFaults):
        load_catalog(bench.include)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


@given(line=st.integers(0, 17), value=TREES)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_no_value_at_any_key_makes_the_loader_raise_anything_but_faults(bench: Bench, line: int, value: object) -> None:
    lines = PIPELINE.splitlines()
    lines[line] = f"{lines[line].partition(':')[0]}: {json.dumps(value)}"
    bench.write(PIPELINE_FILE, "\n".join(lines))
    with suppress(SpecFaults):
        load_catalog(bench.include)
