"""`sluice check --explain`: the settings in force, where they come from, and what they won over."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.cli.checking.explained import Explained, as_values, explained
from sluice.kafka.client.stream_options import KAFKA_SMALL_BATCHES
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.spark.session.preset import SMALL_BATCHES, Origin, batch_settings, merged, unit_layers
from tests.unit.specs.bench import DEPLOYMENT, DEPLOYMENT_FILE, PIPELINE_FILE, TOPIC_FILE, sound_project

PARTITIONS = "spark.sql.shuffle.partitions"
TIMEOUT = "spark.sql.streaming.stopTimeout"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose deployment and pipeline both have settings of their own."""
    bench = sound_project(tmp_path / "project")
    jars = tmp_path / "jars" / "spark"
    jars.mkdir(parents=True)
    (jars / "sluice-1.jar").touch()
    bench.edit(PIPELINE_FILE, "driver: shop\n", "driver: shop\ntrigger: 7 seconds\n")
    settings = f"spark: {{settings: {{{TIMEOUT}: 30s, {PARTITIONS}: '3'}}}}\n"
    bench.write(DEPLOYMENT_FILE, DEPLOYMENT + settings)
    place = Settings(home=bench.home, state=tmp_path / "state", jars=tmp_path / "jars", deployment="prod")
    return Project.open_strict(place)


def found_in(project: Project) -> dict[str, Explained]:
    return {each.name: each for each in explained(project, project.catalog.pipelines["sales"])}


def test_each_setting_says_where_it_comes_from_and_what_it_won_over(project: Project) -> None:
    found = found_in(project)
    assert found[PARTITIONS] == Explained(
        "the driver shop", PARTITIONS, "4", Origin.PIPELINE, ("2 (resources)", "3 (deployment)")
    )
    assert found[TIMEOUT] == Explained("the driver shop", TIMEOUT, "30s", Origin.DEPLOYMENT, ("60s (preset)",))
    assert found["spark.master"].origin is Origin.INSTALLATION
    assert found["kafka.isolation.level"].value == "read_committed"
    assert found["trigger"] == Explained("its streams", "trigger", "7 seconds", Origin.PIPELINE, ("5 seconds (lane)",))
    assert found["delta.enableDeletionVectors"].of == "the table sales"


def test_tables_of_a_pipeline_in_a_hurry_have_a_trigger_of_their_own(tmp_path: Path, project: Project) -> None:
    bench = sound_project(tmp_path / "hurried")
    bench.edit(PIPELINE_FILE, "driver: shop\n", "driver: shop\nlane: latency\n")
    hurried = Project.open_strict(project.settings.model_copy(update={"home": bench.home}))
    triggers = [each for each in explained(hurried, hurried.catalog.pipelines["sales"]) if each.name == "trigger"]
    assert triggers == [
        Explained("its streams", "trigger", "0 seconds", Origin.LANE),
        Explained("its raw and interval tables", "trigger", "5 seconds", Origin.LANE, ("0 seconds (lane)",)),
    ]


@pytest.mark.parametrize("declared", [{}, {"spark.sql.codegen.wholeStage": "true"}])
def test_small_batches_have_settings_of_their_own_but_for_what_is_declared(
    tmp_path: Path, project: Project, declared: dict[str, str]
) -> None:
    bench = sound_project(tmp_path / "hurried")
    both = "outputs:\n- {kind: topic, topic: sold, keys: [city], create: {partitions: 1}}\n- kind: intervals\n"
    bench.edit(PIPELINE_FILE, "output:\n", both)
    of_spark = "".join(f"  {name}: '{value}'\n" for name, value in declared.items())
    bench.edit(PIPELINE_FILE, "driver: shop\nspark:\n", f"driver: shop\nlane: latency\nspark:\n{of_spark}")
    quick = Project.open_strict(project.settings.model_copy(update={"home": bench.home}))
    found = [each for each in explained(quick, quick.catalog.pipelines["sales"]) if each.of.startswith("the stream")]
    expected = {**KAFKA_SMALL_BATCHES, **SMALL_BATCHES}
    assert {each.name: each.value for each in found} == {n: v for n, v in expected.items() if n not in declared}
    assert {each.origin for each in found} == {Origin.LANE}


def test_it_is_what_drivers_and_batches_run_with(project: Project) -> None:
    (unit,) = project.catalog.units().values()
    of_driver = {each.name: each.value for each in found_in(project).values() if each.of == "the driver shop"}
    assert of_driver == merged(unit_layers(project, unit))
    batches = batch_settings(project, "sales")
    assert {name: batches[name] for name in (PARTITIONS, TIMEOUT)} == {PARTITIONS: "4", TIMEOUT: "30s"}


def test_nothing_is_written(project: Project) -> None:
    found_in(project)
    assert not project.settings.state.exists()


def test_programs_get_the_lane_with_what_it_means(project: Project) -> None:
    pipeline = project.catalog.pipelines["sales"]
    values = as_values(pipeline, explained(project, pipeline))
    assert values["lane"] == {
        "name": "balanced",
        "meaning": "a batch every few seconds",
        "why": "few commits, and values of the last seconds",
    }


def test_a_deployments_setting_that_would_break_a_promise_is_refused(tmp_path: Path) -> None:
    bench = sound_project(tmp_path / "project")
    bench.write(DEPLOYMENT_FILE, DEPLOYMENT + "spark: {settings: {spark.sql.session.timeZone: Europe/Oslo}}\n")
    (fault,) = bench.scan().faults
    assert 'spark.settings["spark.sql.session.timeZone"]: ' in str(fault)
    assert "intervals are UTC" in str(fault)


def test_what_a_cluster_gives_comes_from_the_resources(tmp_path: Path, project: Project) -> None:
    bench = sound_project(tmp_path / "clustered")
    bench.edit(PIPELINE_FILE, "driver: shop\n", "driver: shop\nresources: {cores: 6, executor_cores: 3}\n")
    place = {"home": bench.home, "spark_master": "spark://a:7077,b:7077"}
    found = found_in(Project.open_strict(project.settings.model_copy(update=place)))
    for name, value in (("spark.cores.max", "6"), ("spark.executor.cores", "3"), ("spark.executor.memory", "700m")):
        assert found[name] == Explained("the driver shop", name, value, Origin.RESOURCES)
    assert found["spark.master"].value == place["spark_master"]
    assert "spark.executor.cores" not in found_in(project)


def test_what_a_raw_stream_reads_at_once_comes_from_its_topic(tmp_path: Path, project: Project) -> None:
    bench = sound_project(tmp_path / "cut")
    bench.edit(TOPIC_FILE, "  driver: shop\n", "  driver: shop\n  min_partitions: 8\n  max_records_per_batch: 500\n")
    cut = Project.open_strict(project.settings.model_copy(update={"home": bench.home}))
    found = [each for each in explained(cut, cut.catalog.pipelines["sales"]) if each.origin is Origin.TOPIC]
    assert found == [
        Explained("the raw stream of orders", "maxOffsetsPerTrigger", "500", Origin.TOPIC),
        Explained("the raw stream of orders", "minPartitions", "8", Origin.TOPIC),
    ]
