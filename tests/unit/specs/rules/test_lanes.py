"""Lanes: what they set, and what a pipeline in real time may not ask for."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from sluice.specs.catalog.rhythm import raw_trigger, rhythm_of
from sluice.specs.model.lanes import LANES, Lane
from sluice.specs.model.model import PipelineSpec
from sluice.specs.rules.output_rules import direct_output
from tests.unit.specs.bench import PIPELINE_FILE, TOPIC, TRANSFORM_FILE, Bench, sound_project

REALTIME = """\
name: sales
source: orders
transform: sales:sales
time:
  allowed_lateness: 1 hour
  future_skew: 5 min
outputs:
- kind: topic
  topic: large_orders
  keys: [id]
  create: {partitions: 2}
driver: quick
lane: realtime
"""
TRANSFORM = '''\
"""Large orders."""

from pyspark.sql import DataFrame


def sales(orders: DataFrame) -> DataFrame:
    """Choose orders."""
    return orders.where("id > 10").select("id", "shop", "ordered_at")
'''


@pytest.fixture
def project(tmp_path: Path) -> Bench:
    project = sound_project(tmp_path / "project")
    project.write(PIPELINE_FILE, REALTIME)
    project.write(TRANSFORM_FILE, TRANSFORM)
    return project


def said(project: Bench) -> list[str]:
    return [str(fault) for fault in project.scan().faults]


def pipeline(project: Bench) -> PipelineSpec:
    return project.scan().catalog.pipelines["sales"]


def test_a_pipeline_in_real_time_is_sound(project: Bench) -> None:
    assert said(project) == []
    assert pipeline(project).lane is Lane.REALTIME


@pytest.mark.parametrize("lane", list(Lane))
def test_a_lane_sets_the_trigger_that_is_not_declared(project: Bench, lane: Lane) -> None:
    project.edit(PIPELINE_FILE, "lane: realtime", f"lane: {lane}")
    assert pipeline(project).trigger == LANES[lane].trigger
    project.edit(PIPELINE_FILE, f"lane: {lane}", f"lane: {lane}\ntrigger: 7 seconds")
    assert pipeline(project).trigger == timedelta(seconds=7)


def test_a_lane_that_does_not_exist_is_one_fault(project: Bench) -> None:
    project.edit(PIPELINE_FILE, "lane: realtime", "lane: fast")
    (fault,) = said(project)
    assert "'fast'" in fault
    assert "'realtime'" in fault


@pytest.mark.parametrize(("lane", "table", "live"), [("latency", 5, 0), ("balanced", 5, 5), ("throughput", 30, 30)])
def test_only_live_outputs_are_in_a_hurry(project: Bench, lane: str, table: int, live: int) -> None:
    project.edit(PIPELINE_FILE, "lane: realtime", f"lane: {lane}")
    intervals = "- {kind: intervals, table: sales, time_column: ordered_at, interval: hour, keys: [id]}"
    project.edit(PIPELINE_FILE, "outputs:\n", f"outputs:\n{intervals}\n")
    assert said(project) == []
    catalog = project.scan().catalog
    assert rhythm_of(catalog, "sales").trigger == timedelta(seconds=table)
    assert rhythm_of(catalog, "sales_live").trigger == timedelta(seconds=live)


def test_the_outputs_of_a_pipeline_without_an_interval_table_are_in_a_hurry(project: Bench) -> None:
    project.edit(PIPELINE_FILE, "lane: realtime", "lane: latency")
    assert rhythm_of(project.scan().catalog, "sales").trigger == timedelta(0)


@pytest.mark.parametrize(("lane", "seconds"), [("latency", 5), ("realtime", 5), ("balanced", 5), ("throughput", 30)])
def test_a_raw_stream_keeps_up_without_a_commit_for_each_record(project: Bench, lane: str, seconds: int) -> None:
    project.edit(PIPELINE_FILE, "lane: realtime", f"lane: {lane}")
    assert raw_trigger(project.scan().catalog, "orders") == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind: topic\n  topic: large_orders", "kind: latest\n  table: large_orders", "an output of the kind latest"),
        ("  keys: [id]\n", "  keys: [id]\n  delivery: at_most_once\n", "nothing is put on record before a record"),
        ("driver: quick", "driver: shop", "a batch holds the cores of its driver, which orders shares"),
        ("lane: realtime", "lane: realtime\nresources: {cores: 1}", "each of the 2 partitions of orders holds a core"),
        (
            "lane: realtime",
            "lane: realtime\nresources: {cores: {least: 2, most: 4}}",
            "none come and go with a backlog. Fix: write one number.",
        ),
        ("lane: realtime", "lane: realtime\ntrigger: 1 second", "this is how long a batch lasts: 5 s at least"),
        ("lane: realtime", "lane: realtime\nmax_records_per_batch: 10", "a batch has an end in time alone"),
        (
            "lane: realtime",
            "lane: realtime\ncircuit_breaker: {share: 0.1}",
            "nothing is held back until a batch is judged",
        ),
        (
            "driver: quick",
            "- {kind: topic, topic: again, keys: [id], create: {partitions: 2}}\ndriver: quick",
            "in real time a pipeline has one output",
        ),
    ],
)
def test_what_cannot_run_in_real_time_is_one_fault(project: Bench, old: str, new: str, words: str) -> None:
    text = (project.home / PIPELINE_FILE).read_text()
    if "latest" in new:
        text = text.replace("  create: {partitions: 2}\n", "")
    project.write(PIPELINE_FILE, text.replace(old, new))
    (fault,) = said(project)
    assert words in fault


def test_several_topics_cannot_be_joined_in_real_time(project: Bench) -> None:
    project.write("include/topics/again.yaml", TOPIC.replace("name: orders", "name: again").replace("_raw", "_raw_2"))
    project.edit(TRANSFORM_FILE, "orders: DataFrame", "orders: DataFrame, again: DataFrame")
    head, _, rest = REALTIME.partition("source: orders\n")
    transform, _, rest = rest.partition("time:\n")
    rest = rest.partition("future_skew: 5 min\n")[2]
    of = "{{topic: {}, time: {{allowed_lateness: 1 hour, future_skew: 5 min}}}}"
    sources = f"sources:\n  orders: {of.format('orders')}\n  again: {of.format('again')}\n"
    project.write(PIPELINE_FILE, f"{head}{sources}{transform}{rest}")
    (fault,) = said(project)
    assert "in real time a pipeline reads one topic, and no table" in fault


@pytest.mark.parametrize(
    ("edits", "directly"),
    [
        ({}, True),
        ({"lane: realtime": "lane: latency"}, True),
        ({"lane: realtime": "lane: latency\nmax_records_per_batch: 100"}, True),
        ({"lane: realtime": "lane: balanced"}, False),
        ({"lane: realtime": "lane: latency\ncircuit_breaker: {share: 0.1}"}, False),
        ({"lane: realtime": "lane: latency", "keys: [id]": "keys: [id]\n  delivery: at_most_once"}, False),
        ({"lane: realtime": "lane: latency", "driver: quick": "- {kind: rows, table: large}\ndriver: quick"}, False),
    ],
)
def test_a_pipeline_in_a_hurry_is_sent_by_sparks_own_sink_where_no_batch_is_judged(
    project: Bench, edits: dict[str, str], *, directly: bool
) -> None:
    for old, new in edits.items():
        project.edit(PIPELINE_FILE, old, new)
    assert said(project) == []
    assert (direct_output(pipeline(project)) is not None) == directly
