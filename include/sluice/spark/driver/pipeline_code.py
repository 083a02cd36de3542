"""A pipeline's code as the project has it now: spec, topics, tables, static inputs, and the hash of all of them."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from sluice.delta.reading import open_table
from sluice.errors import NotReadyError
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.spark.records.pipeline import PipelineCode, TableCode, result_rows, sources_of
from sluice.spark.records.static import ChangingStatic, read_static
from sluice.spark.sinks.raw import empty_raw_rows, raw_records
from sluice.specs.code.identity import pipeline_hash
from sluice.specs.model.model import PipelineSpec
from sluice.static.snapshots import ReloadedInputs

log = get_logger()


def keep_code(project: Project, pipeline: str) -> str:
    """Return the hash of a pipeline's code, and keep its parts, so that a later change of it can be explained.

    Without them nothing is lost but that explanation, so a full disk ends nothing here.
    """
    parts = project.code_parts_of(pipeline)
    try:
        return parts.keep(project.folder.code)
    except OSError as error:
        log.warning("the parts of this code are not recorded", pipeline=pipeline, why=str(error))
        return parts.hash


def pipeline_code(project: Project, spark: SparkSession, pipeline: PipelineSpec, *, kept: str = "") -> PipelineCode:
    """Return what turns records into rows, with the hash that names it: `kept`, if `keep_code` has just returned it."""
    catalog, sources, places = project.catalog, pipeline.topic_sources, project.static_places
    by_source = {name: catalog.topics[source.topic] for name, source in sources.items()}
    expected = {name: catalog.expected_of_records(pipeline.name, name) for name in sources}
    reloaded = ReloadedInputs(pipeline, places, project.folder.static)
    changing, digests = ChangingStatic(spark, reloaded), reloaded.newest()
    return PipelineCode(
        pipeline=pipeline,
        sources=sources_of(pipeline, catalog.topics, expected, catalog.delivered_topics),
        static=read_static(spark, pipeline, places, without=reloaded.names) | changing.frames(digests),
        code_hash=kept
        or pipeline_hash(project.settings.home, pipeline, by_source, catalog.expected_of_records(pipeline.name)),
        digests=digests,
        changing=changing if reloaded.names else None,
        tables=tables_of(project, spark, pipeline),
    )


def tables_of(project: Project, spark: SparkSession, pipeline: PipelineSpec) -> dict[str, TableCode]:
    """Return what is taken of each settled table that a pipeline reads, by what `table_input` calls it."""
    settled = project.catalog.settled_tables
    return {
        source.reads: TableCode.of(
            name, settled[source.table].intervals, _schema(project, spark, settled[source.table])
        )
        for name, source in pipeline.table_sources.items()
    }


def _schema(project: Project, spark: SparkSession, pipeline: PipelineSpec) -> StructType:
    """Return the schema of a settled table; before there is one, what the code of its pipeline makes of nothing."""
    folder = project.folder.table(pipeline.intervals.table)
    try:
        open_table(folder)
    except NotReadyError:
        code = pipeline_code(project, spark, pipeline)
        nothing = {topic: raw_records(empty_raw_rows(spark)) for topic in code.sources}
        nothing |= {name: spark.createDataFrame([], each.schema) for name, each in code.tables.items()}
        return result_rows(nothing, code).schema
    return spark.read.format("delta").load(str(folder)).schema
