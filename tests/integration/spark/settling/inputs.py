"""What a settler of a test reads and computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Self

from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.delta.settled_log import CollectedRows, SettledLog, StagedRows
from sluice.intervals.reach import Reach
from sluice.project.project import Project
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import Settler, SettlerIdentity
from sluice.spark.records.pipeline import PipelineCode, partition_column
from sluice.spark.settling.computation import RawComputation
from sluice.spark.settling.raw_source import RawTableSource
from sluice.spark.settling.table_source import SettledTableSource
from sluice.spark.tables.continuation import settling_continuation
from sluice.spark.tables.upstream import UpstreamTable


@dataclass(frozen=True)
class SettlerInputs:
    """The raw tables of a pipeline's topics, the settled tables that it reads, and its code over them."""

    sources: dict[str, RawTableSource]
    computation: RawComputation
    tables: dict[str, SettledTableSource] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        project: Project,
        spark: SparkSession,
        code: PipelineCode,
        staging: Path,
        *,
        max_records: int,
        settled: Path,
    ) -> Self:
        """Return those of a pipeline whose topics hold nothing that its raw tables do not hold."""
        rules = SettlingRules.by_topic(code.pipeline)
        sources = {}
        for topic, source in code.sources.items():
            reach = project.tables.raw_position(topic).reach
            sources[topic] = RawTableSource(
                spark,
                project.folder.table(source.topic.raw.table),
                source,
                rules[topic],
                lambda reach=reach: reach,  # type: ignore[misc]
                code.pipeline.intervals,
                settled=settled,
            )
        tables = {}
        for name, table in code.tables.items():
            folder = project.folder.table(table.output.table)
            tables[name] = SettledTableSource(name, UpstreamTable(spark, folder, table), rules[name])
        continuation = settling_continuation(spark, code.carries, project.folder.carried / code.pipeline.name, settled)
        computation = RawComputation({**sources, **tables}, code, staging, max_records, continuation)
        return cls(sources, computation, tables)

    def with_sources(self, change: Callable[[RawTableSource], RawTableSource]) -> Self:
        """Return them with other sources."""
        sources = {topic: change(source) for topic, source in self.sources.items()}
        return replace(self, sources=sources, computation=replace(self.computation, sources={**sources, **self.tables}))

    def ending_at(self, ends: Reach) -> Self:
        """Return them as if the topic ended elsewhere."""
        return self.with_sources(lambda source: replace(source, ends=lambda: ends))

    @property
    def rules(self) -> dict[str, SettlingRules]:
        return {name: source.rules for name, source in self._each.items()}

    @property
    def _each(self) -> dict[str, RawTableSource | SettledTableSource]:
        return {**self.sources, **self.tables}

    def settler(self, table: Path, writer: str, generation: int) -> Settler[CollectedRows | StagedRows]:
        """Return a settler of an interval table that is there; it is opened."""
        code, numbers = self.computation.code, count()
        log = SettledLog(table, partition_column(code.pipeline.intervals), writer, generation, self.rules)
        log.open()
        author = SettlerIdentity(writer, generation, code.code_hash)
        return Settler(
            author,
            self.rules,
            self._each,
            self.computation,
            log,
            clock=SystemClock(),
            nonce=lambda: f"{generation}-{next(numbers)}",
        )
