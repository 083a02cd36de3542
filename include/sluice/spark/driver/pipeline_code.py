"""A pipeline's code as the project has it now: spec, topic, static inputs, and the hash of all of them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sluice.project.project import Project
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.records.static import read_static
from sluice.specs.code.identity import pipeline_hash
from sluice.specs.code.static import locate
from sluice.specs.model.model import PipelineSpec


def pipeline_code(project: Project, spark: SparkSession, pipeline: PipelineSpec) -> PipelineCode:
    """Return what turns records into rows, with the hash that names it."""
    include, topic = project.settings.home / "include", project.catalog.topics[pipeline.source]
    expected = project.catalog.expected_of_records(pipeline.name)
    return PipelineCode(
        pipeline=pipeline,
        topic=topic,
        static={n: read_static(spark, static, locate(static, include)) for n, static in pipeline.static.items()},
        code_hash=pipeline_hash(project.settings.home, pipeline, topic, expected),
        expected=expected,
    )
