"""A settled table of one of the shapes of `tests.shapes`, beside a drained raw table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pandas as pd

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.delta.settled_log import SettledLog
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.ledger import Ledger
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import RoundOutcome, Settler, SettlerIdentity
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.records.pipeline import PipelineCode, partition_column, result_rows
from sluice.spark.settling.raw_source import RawTableSource
from sluice.spark.settling.stream import settler_name
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.raw_table import RawTable
from tests.integration.spark.backfill.backfills import Drained
from tests.shapes.specs import pipeline_of


@dataclass(frozen=True)
class Shape:
    """A settled table of one shape, beside a drained raw table."""

    name: str
    drained: Drained
    code: PipelineCode

    @classmethod
    def over(cls, drained: Drained, name: str, **declared: str) -> Shape:
        pipeline = pipeline_of(name, **declared)
        own = drained.with_catalog(pipelines={**drained.project.catalog.pipelines, name: pipeline})
        code = PipelineCode(pipeline, drained.code.topic, {}, code_hash=f"code of {name}")
        return cls(name, own, code)

    @property
    def table(self) -> Path:
        return self.drained.project.folder.table(self.name)

    @property
    def ledger(self) -> Ledger:
        return self.drained.project.tables.ledger(self.name)

    def settle(self, source: RawTableSource | None = None, *, generation: int = 1, rounds: int | None = None) -> None:
        """Settle what is due, or only as much as some rounds take."""
        source = source or self.source()
        records = raw_records(RawTable.pin(source.folder, source.pin(), self.code.topic).rows(self.drained.spark))
        column = partition_column(self.code.pipeline.intervals)
        ensure_table(self.table, result_rows(records, self.code).schema.json(), partition_by=[column])
        name, numbers = settler_name(self.name), count()
        log = SettledLog(self.table, column, name, generation, source.rules)
        log.open()
        author = SettlerIdentity(name, generation, self.code.code_hash)
        settler = Settler(
            author, source.rules, source, log, clock=SystemClock(), nonce=lambda: f"{generation}-{next(numbers)}"
        )
        for _ in count() if rounds is None else range(rounds):
            if settler.round().outcome is RoundOutcome.WAITING:
                break

    def source(self, max_records: int = 500_000) -> RawTableSource:
        raw = self.drained.project.folder.table(self.code.topic.raw.table)
        position = self.drained.project.tables.raw_position(self.code.topic.name)
        rules = SettlingRules.of(self.code.pipeline)
        return RawTableSource(
            self.drained.spark,
            raw,
            self.code,
            rules,
            lambda: position.reach,
            self.drained.project.folder.staging / self.name,
            max_records,
            settled=self.table,
        )

    def backfill(self, mode: Mode, over: Interval | None = None) -> Result:
        """Run a backfill of a range, or of all that is settled."""
        spans = self.ledger.spans
        closed = Interval(spans[0].interval.start, spans[-1].interval.end)
        request = Request(self.name, over or closed, mode, "tests", "a test", Only.ALL)
        return run_backfill(self.drained.project, self.drained.spark, self.code, request, key=f"{self.name}-{mode}")

    def settled(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return those rows that lie in a settled interval."""
        return rows[rows["at"] < pd.Timestamp(self.ledger.closed_until)]

    def rows(self) -> pd.DataFrame:
        return read_rows(self.table).to_pandas()
