"""What tests of backfills share: a copy of a drained state, and backfills of it in this process."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pandas as pd
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from sluice.delta.reading import read_rows
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.pipeline import PipelineCode

FIRST, LAST = "2013-01-01", "2013-01-02"
RANGE = Interval(datetime(2013, 1, 1, 10, tzinfo=UTC), datetime(2013, 1, 3, 5, tzinfo=UTC))
"""All hours from the first with flights to the last."""


@dataclass(frozen=True)
class Drained:
    """A private copy of a state folder in which a stream has read everything."""

    state: Path
    spark: SparkSession
    project: Project

    @classmethod
    def copy(cls, original: Path, state: Path, spark: SparkSession) -> Drained:
        shutil.copytree(original, state)
        return cls(state, spark, Project.open_strict(Settings(state=state)))

    def with_catalog(self, **changes: object) -> Drained:
        """Return the same state under other specs."""
        catalog = replace(self.project.catalog, **changes)  # type: ignore[arg-type]  fields of the catalog
        return replace(self, project=Project(self.project.settings, catalog))

    @property
    def code(self) -> PipelineCode:
        return pipeline_code(self.project, self.spark, self.project.catalog.pipelines["departures"])

    @property
    def table(self) -> Path:
        return self.project.folder.table("departures")

    @property
    def ledger(self) -> Ledger:
        return self.project.tables.ledger("departures")

    def run(
        self,
        mode: Mode,
        *,
        over: Interval = RANGE,
        only: Only = Only.ALL,
        why: str = "a test",
        key: str = "",
        code: PipelineCode | None = None,
    ) -> Result:
        """Run a backfill in this process."""
        request = Request("departures", over, mode, "tests", why, only)
        return run_backfill(self.project, self.spark, code or self.code, request, key=key or uuid4().hex)

    def rows(self) -> pd.DataFrame:
        """Read the published table as any reader would."""
        return read_rows(self.table).to_pandas()

    def versions(self) -> int:
        return int(DeltaTable(str(self.table)).version())
