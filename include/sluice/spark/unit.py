"""A unit's streams, put together from the specs: session, tables, ledgers, code identity."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from sluice.errors import NotReadyError
from sluice.project import Project
from sluice.spark.driver import Driver, Stream
from sluice.spark.kafka_source import KafkaTopic
from sluice.spark.pipeline import PipelineCode, start_pipeline
from sluice.spark.progress import ProgressFile
from sluice.spark.raw import start_raw
from sluice.spark.session import session
from sluice.spark.static import digest, read_static
from sluice.specs.catalog import Unit
from sluice.specs.code import build_archive, code_hash, import_closure, meaning
from sluice.specs.model import PipelineSpec, Resources, TopicSpec
from sluice.specs.static import locate
from sluice.streams.exits import ExitCode


def run_unit(project: Project, name: str, generation: int, *, available_now: bool = False) -> ExitCode:
    """Run the streams of a unit until they are asked to stop, or, if `available_now`, until they have read everything.

    Raises:
        SluiceError: the unit could not be started.
    """
    unit = project.catalog.units()[name]
    topics = _topics(project, unit)
    spark = unit_session(project, unit)
    try:
        pipelines = [project.catalog.pipelines[p] for p in unit.pipelines]
        streams = [
            *(_raw(project, spark, project.catalog.topics[t], topics[t], generation) for t in unit.topics),
            *(_pipeline(project, spark, p, topics[p.source], generation) for p in pipelines),
        ]
        identity = {"unit": name, "generation": generation, "spark_ui": spark.sparkContext.uiWebUrl}
        files = {
            s.name: ProgressFile(project.folder.progress_file(s.name), {**identity, "stream": s.name}) for s in streams
        }
        return Driver(streams, files).run(available_now=available_now)
    finally:
        spark.stop()


def unit_session(project: Project, unit: Unit) -> SparkSession:
    """Start the session that a unit's streams share: the largest resources that one of them asks for."""
    pipelines = [project.catalog.pipelines[name] for name in unit.pipelines]
    resources = max((p.resources for p in pipelines), key=lambda r: r.cores, default=Resources())
    overrides = {key: value for pipeline in pipelines for key, value in pipeline.spark.items()}
    return session(
        f"sluice-{project.settings.deployment}-{unit.name}",
        resources,
        jars=project.settings.jars / "spark",
        warehouse=project.settings.state / "warehouse",
        master=project.deployment.spark.master,
        overrides=overrides,
        archive=_archive(project),
    )


def pipeline_code(project: Project, spark: SparkSession, pipeline: PipelineSpec) -> PipelineCode:
    """Return what turns records into rows, with the hash that names it."""
    include, topic = project.settings.home / "include", project.catalog.topics[pipeline.source]
    files = {name: locate(static, include) for name, static in pipeline.static.items()}
    return PipelineCode(
        pipeline=pipeline,
        topic=topic,
        static={name: read_static(spark, static, files[name]) for name, static in pipeline.static.items()},
        code_hash=_hash(project.settings.home, pipeline, topic, {name: digest(path) for name, path in files.items()}),
    )


def _hash(home: Path, pipeline: PipelineSpec, topic: TopicSpec, static: Mapping[str, str]) -> str:
    """Hash the transform's import closure, validation's, the specs' meaning and the static inputs."""
    transform = home / "spark_jobs" / "transforms" / f"{pipeline.transform.partition(':')[0]}.py"
    roots = (home / "spark_jobs", home / "include")
    entries = (transform, home / "include" / "sluice" / "spark" / "validation.py")
    closure = sorted({path for entry in entries for path in import_closure(entry, roots)})
    return code_hash(((str(p.relative_to(home)), p.read_bytes()) for p in closure), meaning(pipeline, topic), static)


def _archive(project: Project) -> Path:
    """Zip the package and the transforms for executors, so that workers need no repository."""
    home = project.settings.home
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for root, below in ((home / "include", "sluice"), (home / "spark_jobs", "transforms"))
        for path in sorted((root / below).rglob("*.py"))
    }
    return build_archive(files.items(), project.folder.code)


def _topics(project: Project, unit: Unit) -> dict[str, KafkaTopic]:
    sources = {project.catalog.pipelines[name].source for name in unit.pipelines}
    names = sorted({*unit.topics, *sources})
    found = project.administration().describe(names)
    if missing := [name for name in names if name not in found]:
        raise NotReadyError(
            f"the cluster at {', '.join(project.bootstrap())} has no topic {', '.join(missing)}.",
            fix="run the DAG `topics`, or `sluice topics apply`.",
        )
    return {name: KafkaTopic(project.bootstrap(), name, found[name].topic_id, project.kafka_client()) for name in names}


def _raw(project: Project, spark: SparkSession, topic: TopicSpec, source: KafkaTopic, generation: int) -> Stream:
    name = f"raw_{topic.name}"
    checkpoint = project.folder.checkpoint(name)
    table = project.folder.table(topic.raw.table)
    rows, sink = start_raw(spark, topic, source, table=table, checkpoint=checkpoint, generation=generation)
    readers = [p for p in project.catalog.pipelines.values() if p.source == topic.name]
    seconds = min((p.trigger.total_seconds() for p in readers), default=5.0)
    return Stream(name, rows, sink, checkpoint, seconds)


def _pipeline(
    project: Project, spark: SparkSession, pipeline: PipelineSpec, source: KafkaTopic, generation: int
) -> Stream:
    code = pipeline_code(project, spark, pipeline)
    checkpoint = project.folder.checkpoint(pipeline.name)
    table = project.folder.table(pipeline.output.table)
    rows, sink = start_pipeline(spark, code, source, table=table, checkpoint=checkpoint, generation=generation)
    return Stream(pipeline.name, rows, sink, checkpoint, pipeline.trigger.total_seconds())
