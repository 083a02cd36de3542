"""A settled table of one of the shapes of `tests.shapes`, beside a drained raw table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pandas as pd

from sluice.delta.reading import read_rows
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice
from sluice.intervals.ledger import Ledger
from sluice.settling.settler import RoundOutcome
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.driver.pipeline_code import tables_of
from sluice.spark.records.pipeline import PipelineCode, partition_column, result_rows, sources_of
from sluice.spark.settling.stream import settler_name
from sluice.spark.sinks.raw import empty_raw_rows, raw_records
from sluice.specs.model.model import PipelineSpec
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.settling.inputs import SettlerInputs
from tests.shapes.specs import pipeline_of


@dataclass(frozen=True)
class Shape:
    """A settled table of one shape, beside a drained raw table."""

    name: str
    drained: Drained
    code: PipelineCode

    @classmethod
    def over(cls, drained: Drained, name: str, **declared: str) -> Shape:
        return cls.of_pipeline(drained, pipeline_of(name, **declared))

    @classmethod
    def of_pipeline(cls, drained: Drained, pipeline: PipelineSpec) -> Shape:
        name = pipeline.name
        own = drained.with_catalog(pipelines={**drained.project.catalog.pipelines, name: pipeline})
        sources = sources_of(pipeline, drained.project.catalog.topics, {})
        tables = tables_of(own.project, own.spark, pipeline)
        return cls(name, own, PipelineCode(pipeline, sources, {}, code_hash=f"code of {name}", tables=tables))

    @property
    def table(self) -> Path:
        return self.drained.project.folder.table(self.name)

    @property
    def ledger(self) -> Ledger:
        return self.drained.project.tables.ledger(self.name)

    def settle(self, inputs: SettlerInputs | None = None, *, generation: int = 1, rounds: int | None = None) -> None:
        """Settle what is due, or only as much as some rounds take."""
        inputs = inputs or self.source()
        nothing = {topic: raw_records(empty_raw_rows(self.drained.spark)) for topic in self.code.sources}
        nothing |= {name: self.drained.spark.createDataFrame([], t.schema) for name, t in self.code.tables.items()}
        column = partition_column(self.code.pipeline.intervals)
        ensure_table(self.table, result_rows(nothing, self.code).schema.json(), partition_by=[column])
        settler = inputs.settler(self.table, settler_name(self.name), generation)
        for _ in count() if rounds is None else range(rounds):
            if settler.round().outcome is RoundOutcome.WAITING:
                break

    def source(self, max_records: int = 500_000) -> SettlerInputs:
        project = self.drained.project
        staging = project.folder.staging / self.name
        return SettlerInputs.of(
            project, self.drained.spark, self.code, staging, max_records=max_records, settled=self.table
        )

    def backfill(
        self,
        mode: Mode,
        over: Interval | None = None,
        static: StaticChoice = StaticChoice.RECORDED,
        *,
        key: str = "",
    ) -> Result:
        """Run a backfill of a range, or of all that is settled."""
        spans = self.ledger.spans
        closed = Interval(spans[0].interval.start, spans[-1].interval.end)
        request = Request(self.name, over or closed, mode, "tests", "a test", Only.ALL, static=static)
        key = key or f"{self.name}-{mode}-{static}"
        return run_backfill(self.drained.project, self.drained.spark, self.code, request, key=key)

    def settled(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return those rows that lie in a settled interval."""
        return rows[rows["at"] < pd.Timestamp(self.ledger.closed_until)]

    def rows(self) -> pd.DataFrame:
        return read_rows(self.table).to_pandas()
