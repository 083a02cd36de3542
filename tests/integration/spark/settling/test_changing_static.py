"""A static input that changes between two settlements: each interval keeps what it was made with."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.cross_check import CrossCheck
from sluice.intervals.backfill.request import Mode, StaticChoice
from sluice.intervals.ledger import LedgerRow
from sluice.spark.records.pipeline import PipelineCode, sources_of
from sluice.spark.records.static import ChangingStatic
from sluice.specs.model.model import PipelineSpec
from sluice.static.places import StaticPlaces
from sluice.static.snapshots import ReloadedInputs
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.settling.shape import Shape
from tests.shapes import named, sql
from tests.twins.clock import ManualClock

_COLUMNS = {"carrier": "string", "name": "string"}
_FLIGHTS = {"allowed_lateness": "3 hours", "future_skew": "60 minutes", "arrival_disorder": "15 minutes"}


@pytest.fixture(autouse=True)
def transforms_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transforms.named", named)
    monkeypatch.setitem(sys.modules, "transforms", sql)


@dataclass(frozen=True)
class Airlines:
    """A shape that joins a file, and the file."""

    shape: Shape
    file: Path
    clock: ManualClock

    @classmethod
    def of(cls, drained: Drained, transform: str, folder: Path, spark: SparkSession) -> Airlines:
        pipeline, clock = _pipeline(transform), ManualClock()
        shape = Shape.of_pipeline(drained, pipeline)
        airlines = cls(shape, folder / "airlines.jsonl", clock)
        airlines.write("old")
        project = shape.drained.project
        inputs = ReloadedInputs(pipeline, StaticPlaces(folder, project.folder.table), project.folder.static, clock)
        changing, digests = ChangingStatic(spark, inputs), inputs.newest()
        sources = sources_of(pipeline, project.catalog.topics, {})
        code = PipelineCode(
            pipeline, sources, changing.frames(digests), f"code of {pipeline.name}", digests=digests, changing=changing
        )
        return cls(Shape(shape.name, shape.drained, code), airlines.file, clock)

    def write(self, age: str) -> None:
        lines = (f'{{"carrier": "{carrier}", "name": "{age} {carrier}"}}' for carrier in ("AA", "B6", "DL", "UA"))
        self.file.write_text("\n".join(lines))
        self.clock.sleep(60)

    @property
    def written(self) -> dict[str, list[LedgerRow]]:
        """The settled intervals with rows, by the digest of what they were made with."""
        found: dict[str, list[LedgerRow]] = {}
        for row in self.shape.ledger.spans:
            if row.current is not None and row.current.content.rows:
                found.setdefault(row.current.static["airlines"], []).append(row)
        return found

    def ages(self, rows: list[LedgerRow]) -> set[str]:
        """Return the words with which the names of airlines begin in some intervals."""
        published, starts = self.shape.rows(), {pd.Timestamp(row.interval.start) for row in rows}
        return {name.split()[0] for name in published[published["at"].isin(starts)]["airline"].dropna()}

    def settle_half_before_a_change(self) -> tuple[list[LedgerRow], list[LedgerRow]]:
        """Settle a few intervals, change the file, and settle the rest; return the intervals of both."""
        self.shape.settle(self.shape.source(max_records=600), rounds=2)
        first = self.shape.ledger.closed_until
        self.write("new")
        self.shape.settle(generation=2)
        assert first is not None
        old, new = self.written.values()
        assert old[-1].interval.end <= first == new[0].interval.start
        return old, new


def _pipeline(transform: str) -> PipelineSpec:
    return PipelineSpec.model_validate(
        {
            "name": "named",
            "source": "flights",
            "transform": transform,
            "static": {"airlines": {"path": "airlines.jsonl", "columns": _COLUMNS, "reload": "1 min"}},
            "time": _FLIGHTS,
            "output": {
                "kind": "intervals",
                "table": "named",
                "time_column": "at",
                "window": "1 hour",
                "interval": "hour",
                "keys": ["carrier"],
            },
            "driver": "flights",
            "resources": {"cores": 2, "driver_memory": "700m"},
        }
    )


@pytest.mark.verify
def test_an_interval_is_verified_with_what_it_was_made_with_and_recomputed_with_the_newest(
    drained: Drained, tmp_path: Path, spark: SparkSession
) -> None:
    airlines = Airlines.of(drained, "named_in_sql.sql", tmp_path, spark)
    old, new = airlines.settle_half_before_a_change()
    assert (airlines.ages(old), airlines.ages(new)) == ({"old"}, {"new"})
    verified = airlines.shape.backfill(Mode.VERIFY)
    assert (verified.outcome, verified.why) == ("identical", "")
    assert verified.report is not None
    assert verified.report.cross_check is not None
    assert verified.report.cross_check.intervals > CrossCheck(8).intervals  # eight of each chunk, and there are two
    over = Interval(old[0].interval.start, old[-1].interval.end)
    recomputed = airlines.shape.backfill(Mode.RECOMPUTE, over, StaticChoice.NEWEST)
    assert recomputed.outcome == "recomputed"
    assert airlines.ages(old) == {"new"}
    assert len(airlines.written) == 1


@pytest.mark.verify
def test_late_records_and_repairs_leave_the_names_as_they_were(
    drained: Drained, tmp_path: Path, spark: SparkSession
) -> None:
    airlines = Airlines.of(drained, "named:named", tmp_path, spark)
    old, new = airlines.settle_half_before_a_change()
    corrected = airlines.shape.backfill(Mode.CORRECT)
    assert (corrected.outcome, corrected.why) == ("explained", "")
    recomputed = airlines.shape.backfill(Mode.RECOMPUTE)
    assert (recomputed.outcome, recomputed.why) == ("recomputed", "")
    assert (airlines.ages(old), airlines.ages(new)) == ({"old"}, {"new"})
    assert len(airlines.written) == 2


@pytest.mark.verify
def test_without_its_snapshot_an_interval_is_refused_until_it_is_recomputed_with_the_newest(
    drained: Drained, tmp_path: Path, spark: SparkSession
) -> None:
    airlines = Airlines.of(drained, "named:named", tmp_path, spark)
    old, _ = airlines.settle_half_before_a_change()
    (digest, *_) = airlines.written
    (drained.project.folder.static / "named" / "airlines" / f"{digest}.parquet").unlink()
    later = replace(airlines.shape, code=airlines.shape.code.newest())
    over = Interval(old[0].interval.start, old[-1].interval.end)
    with pytest.raises(RefusedError, match="is not there any more"):
        later.backfill(Mode.VERIFY, over)
    assert later.backfill(Mode.RECOMPUTE, over, StaticChoice.NEWEST).outcome == "recomputed"
