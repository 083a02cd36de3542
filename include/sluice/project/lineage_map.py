"""What the streams, backfills and checks of a project read and write, from its specs and the logs of its tables."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import version
from typing import TypeAlias

from sluice.delta.log import newest_first, newest_stream_commit
from sluice.delta.reading import open_table
from sluice.errors import CorruptionError, NotReadyError
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.entries import BackfillEntry
from sluice.lineage import datasets
from sluice.lineage.batches import BatchJob
from sluice.lineage.datasets import Dataset
from sluice.lineage.identity import Parent
from sluice.lineage.results import Published
from sluice.lineage.streams import StreamJob
from sluice.project.project import Project
from sluice.settings import connection_url, lineage_namespace
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.streams import StreamKind
from sluice.specs.code.static import locate
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput, LatestOutput, Output, RowsOutput, WrittenTopic
from sluice.specs.model.sources import StaticInput
from sluice.storage.folder import Folder
from sluice.streams.life.attempts import Attempt

Columns: TypeAlias = tuple[tuple[str, str], ...]
"""Names and types of a table's columns, in their order."""


class LineageMap:
    """The datasets and jobs of one project. For one thread; its methods read files.

    A table's columns are read once and remembered, until `refresh` is asked for.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._columns: dict[Folder, Columns | None] = {}

    @property
    def namespace(self) -> str:
        """The namespace of Sluice's jobs."""
        return lineage_namespace() or f"sluice.{self._project.settings.deployment}"

    @cached_property
    def units(self) -> dict[str, Unit]:
        """The units that the specs name."""
        return self._project.catalog.units()

    def streams(self, unit: str, *, refresh: bool = False) -> list[StreamJob]:
        """Return the streams of a unit; none if no sound spec names it.

        Args:
            unit: the driver's name in the specs.
            refresh: whether to read the tables' columns again.

        Raises:
            NotReadyError: the embedded stack is not up, so Kafka has no address.
        """
        declared = self.units.get(unit)
        for stream in declared.streams if refresh and declared is not None else ():
            for folder in self.tables_of(stream):
                self._columns.pop(folder, None)
        return [] if declared is None else [self._stream(declared, stream) for stream in declared.streams]

    def tables_of(self, stream: str) -> list[Folder]:
        """Return the folders of the Delta tables that a stream writes."""
        project, declared = self._project, self._project.catalog.streams[stream]
        if declared.kind is StreamKind.RAW:
            return [project.folder.table(project.catalog.topics[declared.topics[0]].raw.table)]
        return [project.folder.table(table) for output in declared.outputs if (table := _delta(output))]

    def versions_of(self, stream: str, attempt: Attempt) -> dict[str, int]:
        """Return, by the names of their datasets, the last versions of tables that an attempt of a stream has made."""
        made: dict[str, int] = {}
        for folder in self.tables_of(stream):
            newest = newest_stream_commit(folder)
            if newest is not None and newest[1].generation == attempt.generation:
                made[datasets.place(str(folder))[1]] = newest[0]
        return made

    def batch(self, pipeline: str, parent: Parent | None = None) -> BatchJob:
        """Return a backfill or check of a pipeline with intervals, with the run that started this process."""
        spec, catalog = self._project.catalog.pipelines[pipeline], self._project.catalog
        names = [source.table for source in spec.table_sources.values()]
        names += [catalog.topics[topic].raw.table for topic in spec.topics]
        raw = [self._table(self._project.folder.table(name)) for name in names]
        return BatchJob(
            namespace=self.namespace,
            deployment=self._project.settings.deployment,
            pipeline=pipeline,
            engine=version("pyspark"),
            sources=(*raw, *self._static(spec)),
            table=self._table(self._project.folder.table(spec.intervals.table)),
            owner=spec.owner,
            description=spec.description,
            parent=parent,
        )

    def published(self, backfill: Backfill) -> Published | None:
        """Return what a backfill has published since its process claimed it; None if that is nothing."""
        spec = self._project.catalog.pipelines[backfill.request.pipeline]
        rows, newest = 0, None
        for logged in newest_first(self._project.folder.table(spec.intervals.table)):
            if logged.at < backfill.claimed_at:
                break
            if isinstance(logged.entry, BackfillEntry) and logged.entry.backfill == backfill.id:
                rows += sum(content.rows for content in logged.entry.content.values())
                newest = logged.version if newest is None else newest
        return None if newest is None else Published(rows, newest)

    def _stream(self, unit: Unit, stream: str) -> StreamJob:
        declared = self._project.catalog.streams[stream]
        catalog, pipeline = self._project.catalog, declared.pipeline
        bootstrap = self._project.kafka.bootstrap()
        return StreamJob(
            namespace=self.namespace,
            deployment=self._project.settings.deployment,
            unit=unit.name,
            stream=stream,
            engine=version("pyspark"),
            topics=tuple(datasets.topic(bootstrap, topic, catalog.topics[topic]) for topic in declared.topics),
            static=() if pipeline is None or declared.kind is StreamKind.DEAD else self._beside_topics(pipeline),
            outputs=self._outputs(stream),
            owner=declared.owner,
            description=catalog.topics[declared.topics[0]].description if pipeline is None else pipeline.description,
        )

    def _beside_topics(self, pipeline: PipelineSpec) -> tuple[Dataset, ...]:
        folders = (self._project.folder.table(source.table) for source in pipeline.table_sources.values())
        return (*map(self._table, folders), *self._static(pipeline))

    def _outputs(self, stream: str) -> tuple[Dataset, ...]:
        tables = tuple(self._table(folder) for folder in self.tables_of(stream))
        outputs = self._project.catalog.streams[stream].outputs
        others = (self._other(output) for output in outputs if not _delta(output))
        return (*tables, *(dataset for dataset in others if dataset is not None))

    def _other(self, output: Output) -> Dataset | None:
        """Return an output that is no Delta table; None where only its driver knows where it is."""
        if isinstance(output, WrittenTopic):
            return datasets.topic(
                self._project.kafka.bootstrap(), output.topic, self._project.catalog.topics.get(output.topic)
            )
        if isinstance(output, LatestOutput) and output.connection:
            try:
                return datasets.postgres_table(connection_url(output.connection), output.table)
            except NotReadyError:
                return None
        return None

    def _static(self, pipeline: PipelineSpec) -> tuple[Dataset, ...]:
        found = map(self._static_input, pipeline.static.values())
        return tuple(dataset for dataset in found if dataset is not None)

    def _static_input(self, static: StaticInput) -> Dataset | None:
        """Return what a static input is read from; None where only a process that reads it knows, or a query does."""
        if static.path is not None:
            return datasets.file(locate(static, self._project.settings.home / "include"), static)
        if static.connection is None:
            return self._table(self._project.folder.table(str(static.table)))
        try:
            url = connection_url(static.connection)
        except NotReadyError:
            return None
        of_postgres = static.table is not None and url.startswith("postgres")
        return datasets.postgres_table(url, str(static.table)) if of_postgres else None

    def _table(self, folder: Folder) -> Dataset:
        if self._columns.get(folder) is None:
            self._columns[folder] = columns_of(folder)
        return datasets.table(str(folder), self._columns[folder])


def _delta(output: Output) -> str:
    """Return the name of the Delta table that an output fills; empty if it is none."""
    if isinstance(output, LatestOutput):
        return output.table if output.store == "delta" else ""
    return output.table if isinstance(output, IntervalsOutput | RowsOutput) else ""


def columns_of(folder: Folder) -> Columns | None:
    """Return names and types of a table's columns from its log; None if there is no log that can be read."""
    try:
        fields = open_table(folder).schema().fields
    except (NotReadyError, CorruptionError):
        return None
    return tuple((field.name, str(getattr(field.type, "type", field.type))) for field in fields)
