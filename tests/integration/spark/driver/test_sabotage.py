"""Whatever is done to a table, to the code or to the gate: it is noticed, and nothing wrong is published."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import ModuleType

import pytest
from _pytest.mark import ParameterSet
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import read_log
from sluice.errors import SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import SettleEntry, to_json
from sluice.spark.records.content import content_of
from sluice.spark.records.pipeline import PipelineCode
from sluice.specs.expectations.model import Expectation, ExpectationsSpec
from tests.integration.spark.backfill.backfills import RANGE, Drained
from tests.matrix.recording import FaultRecorder
from transforms.departures import departures

pytestmark = pytest.mark.timeout(600)

SHORT = Interval(RANGE.start, RANGE.start + timedelta(hours=6))
ONE_ROW = "origin = 'JFK' AND carrier = 'B6' AND delay_sum_min = 97"


def _later(case: Callable[..., object]) -> ParameterSet:
    """Leave a case that costs ten seconds to `make verify`; one of its kind stays."""
    return pytest.param(case, marks=pytest.mark.verify)


def drop(table: DeltaTable) -> None:
    table.delete(ONE_ROW)


def duplicate(table: DeltaTable) -> None:
    write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")


def alter(table: DeltaTable) -> None:
    table.update({"departed": "departed + 1"}, predicate=ONE_ROW)


@pytest.mark.parametrize("sabotage", [drop, _later(duplicate), _later(alter)])
def test_a_foreign_commit_is_found(drained: Drained, sabotage: Callable[[DeltaTable], None]) -> None:
    sabotage(DeltaTable(str(drained.table)))
    version = drained.versions()
    result = drained.run(Mode.VERIFY)
    assert (result.outcome, result.passed) == ("different", False)
    assert "something else changed it" in result.why
    assert result.report is not None
    assert result.report.unexplained in (1, 2)
    assert [p.outcome for p in result.report.intervals].count(ParityOutcome.DIFFERENT) == 1
    corrected = drained.run(Mode.CORRECT)
    assert (corrected.outcome, corrected.published) == ("different", ())
    assert drained.versions() == version


@pytest.mark.verify
def test_a_wrong_settlement_is_found_though_the_ledger_says_the_same(drained: Drained) -> None:
    entries = [logged.entry for logged in read_log(drained.table) if isinstance(logged.entry, SettleEntry)]
    rows = drained.spark.read.format("delta").load(str(drained.table))
    chosen = (F.col("origin") == "JFK") & (F.col("carrier") == "B6") & (F.hour("hour") == 11)
    wrong = rows.withColumn("departed", F.when(chosen, F.col("departed") + 1).otherwise(F.col("departed")))
    wrong = drained.spark.createDataFrame(wrong.collect(), rows.schema)
    shutil.rmtree(drained.table)
    entry = replace(entries[-1], since=entries[0].since, content=content_of(wrong, "hour"))
    commit = wrong.write.format("delta").partitionBy("hour").option("userMetadata", to_json(entry))
    commit.save(str(drained.table))
    result = drained.run(Mode.VERIFY, over=SHORT)
    assert result.outcome == "different"
    assert "nothing explains the difference" in result.why
    assert "origin=JFK carrier=B6: departed" in result.why


def stale_airlines(code: PipelineCode) -> PipelineCode:
    return replace(code, static={"airlines": code.static["airlines"].where("carrier <> 'B6'")})


def another_transform(code: PipelineCode) -> PipelineCode:
    pipeline = code.pipeline.model_copy(update={"transform": "generous:departures"})
    return replace(code, pipeline=pipeline)


@pytest.fixture
def generous(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transform that counts one departure too many, beside the real one."""

    def counts_more(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
        return departures(flights, airlines=airlines).withColumn("departed", F.col("departed") + 1)

    module = ModuleType("transforms.generous")
    module.departures = counts_more  # type: ignore[attr-defined]  a module made on the spot
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("generous")
@pytest.mark.parametrize("other", [_later(stale_airlines), _later(another_transform)])
def test_other_code_on_one_side_is_found_even_under_the_same_hash(
    drained: Drained, other: Callable[[PipelineCode], PipelineCode]
) -> None:
    under_same_hash = other(drained.code)
    result = drained.run(Mode.VERIFY, over=SHORT, code=under_same_hash)
    assert (result.outcome, result.passed) == ("different", False)
    under_its_own = replace(under_same_hash, code_hash="another")
    honest = drained.run(Mode.VERIFY, over=SHORT, code=under_its_own)
    assert (honest.outcome, "stale" in honest.why) == ("inconclusive", True)


def makes_nothing(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
    return departures(flights, airlines=airlines).limit(0)


@pytest.mark.verify
@pytest.mark.proves("gate-fails")
def test_an_empty_batch_is_not_published(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, faults: FaultRecorder
) -> None:
    module = ModuleType("transforms.empty")
    module.departures = makes_nothing  # type: ignore[attr-defined]  a module made on the spot
    monkeypatch.setitem(sys.modules, module.__name__, module)
    pipeline = drained.code.pipeline.model_copy(update={"transform": "empty:departures"})
    before = drained.rows()
    result = drained.run(Mode.RECOMPUTE, over=SHORT, code=replace(drained.code, pipeline=pipeline))
    assert (result.outcome, result.passed, result.published) == ("gate_failed", False, ())
    assert "no rows, although" in result.why
    faults.struck(result.why)
    faults.compared("the table with that of before")
    assert drained.rows().equals(before)
    assert list(drained.project.folder.staging.glob(f"{result.backfill}/0/*.parquet"))


@pytest.mark.proves("gate-fails")
def test_a_gate_that_raises_lets_nothing_through(drained: Drained, faults: FaultRecorder) -> None:
    about_nothing = Expectation(expect="expect_column_values_to_not_be_null", kwargs={"column": "no_such_column"})
    suite = ExpectationsSpec(name="departures", pipeline="departures", expectations=(about_nothing,))
    guarded = drained.with_catalog(expectations={"departures": suite})
    before = drained.rows()
    result = guarded.run(Mode.RECOMPUTE, over=SHORT)
    assert (result.outcome, result.published) == ("gate_failed", ())
    assert "no_such_column" in result.why
    faults.struck(result.why)
    faults.compared("the table with that of before")
    assert drained.rows().equals(before)


def test_a_suite_without_expectations_stops_the_backfill_before_it_begins(drained: Drained) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ExpectationsSpec(name="departures", pipeline="departures", expectations=())
    version = drained.versions()
    broken = drained.with_catalog(expectations={}, doubtful_suites={"departures.yaml": "departures"})
    with pytest.raises(SpecError, match="no sound suite"):
        broken.run(Mode.RECOMPUTE, over=SHORT)
    assert drained.versions() == version
