"""The census of every pipeline that reads a feed's topic."""

from __future__ import annotations

from sluice.errors import NotReadyError, SpecError
from sluice.project.project import Project
from sluice.quality.census import Census
from sluice.spark.checks.census import take_census
from sluice.spark.session.batch_session import batch_session
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.expectations.model import Expectation
from sluice.specs.model.model import PipelineSpec


def census_of_feed(project: Project, feed: str) -> list[Census]:
    """Recompute validation over the raw table of a feed's topic, for each pipeline that reads it.

    Raises:
        SpecError: there is no such feed.
        NotReadyError: the raw table does not exist yet, or no pipeline reads the topic.
    """
    if feed not in project.catalog.feeds:
        raise SpecError(f"there is no feed {feed!r}; the specs have {', '.join(sorted(project.catalog.feeds))}.")
    topic = project.catalog.topics[project.catalog.feeds[feed].topic]
    readers = [pipeline for pipeline in project.catalog.pipelines.values() if topic.name in pipeline.topics]
    if not readers:
        raise NotReadyError(
            f"no pipeline reads the topic {topic.name}, so nothing says what becomes of its records.",
            fix=f"write one: `sluice new pipeline NAME --source {topic.name}`.",
        )
    raw_table = project.folder.table(topic.raw.table)
    if not raw_table.exists():
        raise NotReadyError(
            f"the raw table {raw_table} does not exist.", fix=f"run `sluice streams start {topic.raw.driver}` first."
        )
    with batch_session(project, "check", readers[0].name) as spark:
        return [
            take_census(spark, raw_table, topic, pipeline, _expected(project.catalog, pipeline, topic.name))
            for pipeline in readers
        ]


def _expected(catalog: Catalog, pipeline: PipelineSpec, topic: str) -> tuple[Expectation, ...]:
    names = (name for name, source in pipeline.topic_sources.items() if source.topic == topic)
    return tuple(each for name in names for each in catalog.expected_of_records(pipeline.name, name))
