"""Which words about sources change a pipeline's code: those that change results, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.specs.code.closure import meaning
from sluice.specs.code.identity import pipeline_hash
from tests.unit.specs.bench import PIPELINE_FILE as SALES_FILE
from tests.unit.specs.bench import Bench
from tests.unit.specs.several import PIPELINE_FILE, SUITE_FILE, project_with_several

CLICKS = "include/topics/ad_clicks.yaml"
SUITE = """\
name: sales
pipeline: sales
expectations:
- {expect: expect_column_values_to_not_be_null, kwargs: {column: shop}, on: [record]}
"""


def code_of(bench: Bench, pipeline: str) -> str:
    package = bench.home / "installed" / "sluice"
    bench.write("installed/sluice/spark/records/validation.py", "")
    catalog = bench.scan().catalog
    spec = catalog.pipelines[pipeline]
    topics = {name: catalog.topics[source.topic] for name, source in spec.every_source.items()}
    return pipeline_hash(bench.home, spec, topics, catalog.expected_of_records(pipeline), package=package)


def test_the_code_of_a_pipeline_that_names_one_topic_is_what_it_was_before_there_were_sources(bench: Bench) -> None:
    # Both were taken when a pipeline had `source` and nothing else. With another hash every published interval of
    # such a pipeline would be stale, and computed again.
    assert code_of(bench, "sales") == "963e9c561b049c4a56878efb9614d37184ef9da981fbc91d6504e9f33a1abc32"
    bench.write("include/expectations/sales.yaml", SUITE)
    bench.edit(SALES_FILE, "  interval: hour\n", "  interval: hour\n  lookback: 2 hours\n")
    assert code_of(bench, "sales") == "236d0891fecea3511450a702937a454c82d875ca9b119af4be4da95d8222c6b3"


@pytest.fixture
def several(tmp_path: Path) -> Bench:
    return project_with_several(tmp_path / "project")


def meant(several: Bench) -> dict[str, object]:
    catalog = several.scan().catalog
    assert several.scan().faults == ()
    pipeline = catalog.pipelines["click_through"]
    topics = {name: catalog.topics[source.topic] for name, source in pipeline.every_source.items()}
    return meaning(pipeline, topics, catalog.expected_of_records("click_through"))


def test_each_source_is_said_with_its_topics_value_and_without_what_is_omitted(several: Bench) -> None:
    said = meant(several)
    assert sorted(said) == ["expected", "pipeline", "sources"]
    assert isinstance(said["pipeline"], dict)
    assert not {"source", "time", "sources"} & said["pipeline"].keys()
    sources = said["sources"]
    assert isinstance(sources, dict)
    keys = ["time", "topic", "value", "watermark_delay_seconds"]
    assert {name: sorted(each) for name, each in sources.items()} == {
        "shown": sorted([*keys, "lookback"]),
        "clicks": sorted([*keys, "columns"]),
    }
    assert sources["clicks"]["time"] == {
        "allowed_lateness": "10 minutes",
        "future_skew": "1 minute",
        "clock_skew": "10 minutes",
    }
    assert [sources[name]["watermark_delay_seconds"] for name in ("shown", "clicks")] == [360, 660]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (PIPELINE_FILE, "future_skew: 1 min}\n    lookback", "future_skew: 1 min, idle: 1 hour}\n    lookback"),
        (PIPELINE_FILE, "allowed_lateness: 10 min,", "allowed_lateness: 10 min, arrival_disorder: 1 min,"),
        (PIPELINE_FILE, "allowed_lateness: 10 min,", "allowed_lateness: 10 min, max_advance: 1 hour,"),
        (PIPELINE_FILE, "allowed_lateness: 10 min,", "allowed_lateness: 10 min, watermark_delay: 11 min,"),
        (CLICKS, "partitions: 2", "partitions: 4"),
    ],
)
def test_what_changes_no_result_has_no_meaning(several: Bench, file: str, old: str, new: str) -> None:
    before = meant(several)
    several.edit(file, old, new)
    assert meant(several) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (PIPELINE_FILE, "lookback: 1 hour", "lookback: 2 hours"),
        (PIPELINE_FILE, "lookback: 1 hour", "lookback: 1 hour\n    lookahead: 1 hour"),
        (PIPELINE_FILE, "{position: offset}", "{position: partition}"),
        (PIPELINE_FILE, "    columns: {position: offset}\n", ""),
        (PIPELINE_FILE, "allowed_lateness: 10 min", "allowed_lateness: 11 min"),
        (PIPELINE_FILE, "allowed_lateness: 10 min,", "allowed_lateness: 10 min, watermark_delay: 2 hours,"),
        (CLICKS, "    ad: {type: string, required: true}", "    ad: {type: string}"),
        (SUITE_FILE, "{column: id}, on: [record], source: clicks", "{column: ad}, on: [record], source: clicks"),
        (SUITE_FILE, "{column: shown_at}, on: [record], source: shown", "{column: ad}, on: [record], source: clicks"),
    ],
)
def test_what_changes_results_has_meaning(several: Bench, file: str, old: str, new: str) -> None:
    before = meant(several)
    several.edit(file, old, new)
    assert meant(several) != before


def test_the_same_expectation_of_another_source_is_another_one(several: Bench) -> None:
    suite = "name: click_through\npipeline: click_through\nexpectations:\n"
    suite += "  - {expect: expect_column_values_to_not_be_null, kwargs: {column: ad}, on: [record], source: shown}\n"
    several.write(SUITE_FILE, suite)
    before = meant(several)
    several.edit(SUITE_FILE, "source: shown", "source: clicks")
    assert meant(several) != before
