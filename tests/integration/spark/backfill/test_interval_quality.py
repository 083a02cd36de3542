"""What must hold of each interval, at the gate of a real backfill and on the published table."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pydantic import JsonValue

from sluice.control.quality import SqlQualityResults
from sluice.delta.log import read_log
from sluice.gx.vocabulary import expectations_are_known
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.acceptance import GATE_FAILED, accepting
from sluice.intervals.backfill.bounds import IntervalBound
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import BackfillEntry
from sluice.quality.gate import GateResult
from sluice.quality.intervals import ExpectationResult, judge_interval
from sluice.quality.measured import Measured
from sluice.quality.results import StoredResult
from sluice.quality.suggestion import as_yaml
from sluice.spark.backfill.results import Result
from sluice.spark.backfill.run import run_backfill
from sluice.spark.checks.profile import profile_of
from sluice.spark.checks.published_quality import check_published
from sluice.spark.checks.record_measures import measure_records
from sluice.spark.checks.references import References
from sluice.spark.tables.output import OutputTable
from sluice.spark.tables.raw_table import RawTable
from sluice.spark.tables.records import Records
from sluice.specs.expectations.model import Expectation, ExpectationsSpec, HistoricalBounds, Severity, Subject
from sluice.specs.load import scan
from sluice.specs.rules.rules import RULES
from tests.editing import copy_project
from tests.integration.spark.backfill.backfills import FIRST, LAST, RANGE, Drained
from tests.oracle import flights

pytestmark = pytest.mark.timeout(600)

HOUR = timedelta(hours=1)
SHORT = Interval(RANGE.start, RANGE.start + 4 * HOUR)


def about(
    name: str, *, history: HistoricalBounds | None = None, severity: Severity = Severity.CRITICAL, **kwargs: JsonValue
) -> Expectation:
    return Expectation(expect=name, kwargs=kwargs, on=(Subject.INTERVAL,), history=history, severity=severity)


VOLUME = about("expect_table_row_count_to_be_between", min_value=20)
OFFSETS = about("expect_interval_offsets_to_be_complete")


def guarded(drained: Drained, *expectations: Expectation) -> Drained:
    suite = ExpectationsSpec(name="departures", pipeline="departures", expectations=expectations)
    return drained.with_catalog(expectations={"departures": suite})


def on_record(drained: Drained, *expectations: Expectation) -> list[StoredResult]:
    project = drained.project
    results = SqlQualityResults(project.records.database, project.settings.deployment)
    return list(results.of("departures", [each.key for each in expectations], RANGE.start, RANGE.end))


def accept(drained: Drained, failed: Result, why: str) -> Result:
    request = accepting(drained.project.records.backfills().get(failed.backfill), "bob", why)
    return run_backfill(drained.project, drained.spark, drained.code, request, key=uuid4().hex)


def gate_of(drained: Drained, result: Result) -> GateResult:
    return GateResult.from_json((drained.project.folder.backfill(result.backfill) / "quality.json").read_bytes())


@pytest.mark.verify
def test_an_interval_that_fails_keeps_its_chunk_from_being_published_until_somebody_accepts_it(
    drained: Drained,
) -> None:
    drained = guarded(drained, VOLUME)
    before = drained.versions()
    failed = drained.run(Mode.RECOMPUTE, over=SHORT)
    assert (failed.outcome, failed.published, drained.versions()) == (GATE_FAILED, (), before)
    assert "interval 2013-01-01T13:00Z: expect_table_row_count_to_be_between (table) does not hold: 19" in failed.why
    assert failed.why.endswith("so 3 earlier intervals")
    assert on_record(drained, VOLUME) == []  # nothing that was published was judged

    accepted = accept(drained, failed, "the first hours of the year are quiet")
    assert accepted.passed, accepted.why
    assert len(accepted.published) == 4
    gate = gate_of(drained, accepted)
    assert gate.override is not None
    assert (gate.override.by, gate.override.why) == ("bob", "the first hours of the year are quiet")
    assert gate.overridden
    entry = [logged.entry for logged in read_log(drained.table) if isinstance(logged.entry, BackfillEntry)][-1]
    assert "bob accepts the rest: the first hours of the year are quiet" in entry.gate
    folder = drained.project.folder.backfill(accepted.backfill)
    assert "passed by override" in (folder / "quality.html").read_text()
    assert json.loads((folder / "result.json").read_text())["gate"]["overridden"] == list(gate.overridden)
    kept = on_record(drained, VOLUME)
    assert [each.checked.start for each in kept] == [SHORT.start + hours * HOUR for hours in range(4)]
    assert {each.by for each in kept} == {accepted.backfill}

    # Who accepts one finding has not accepted another.
    stricter = guarded(drained, VOLUME, about("expect_column_max_to_be_between", column="departed", max_value=1))
    assert accept(stricter, failed, "the same").outcome == GATE_FAILED


@pytest.mark.verify
def test_each_published_interval_is_judged_once_for_what_it_holds(drained: Drained) -> None:
    steady = about(
        "expect_table_row_count_to_be_between",
        history=HistoricalBounds(intervals=6, at_least=3, share=0.01, deviations=0.01),
        severity=Severity.WARNING,
    )
    drained = guarded(drained, about("expect_table_row_count_to_be_between", min_value=0), steady)
    result, page = check_published(drained.project, drained.spark, "departures", RANGE)
    assert result.passed
    closed = [start for start, row in drained.ledger.rows.items() if not row.dirty]
    first = on_record(drained, *drained.project.catalog.expectations["departures"].expectations)
    assert len(first) == 2 * len(closed)
    assert "<svg" in page.read_text()
    assert "of the 6 intervals before it, 1 hour apart, are known" in page.read_text()
    assert any("by history" in warning for warning in result.warnings)

    again, _ = check_published(drained.project, drained.spark, "departures", RANGE)
    assert sorted(again.intervals, key=lambda each: (each.start, each.key)) == [each.checked for each in first]
    assert on_record(drained, *drained.project.catalog.expectations["departures"].expectations) == first

    # What a backfill changes is judged by its gate, and the rest stays as it was found.
    corrected = drained.run(Mode.CORRECT)
    assert corrected.published
    check_published(drained.project, drained.spark, "departures", RANGE)
    kept = on_record(drained, *drained.project.catalog.expectations["departures"].expectations)
    by = {each.checked.start: each.by for each in kept}
    assert {start for start, who in by.items() if who == corrected.backfill} == set(corrected.published)
    rows = drained.rows().groupby("hour").size()
    volume = {each.checked.start: each.checked.value for each in kept if each.checked.key == steady.key}
    assert {start: count for start, count in volume.items() if count} == rows.to_dict()


def measured(drained: Drained, expectations: list[Expectation], hours: int) -> dict[str, list[Measured]]:
    """Measure the first hours, with the raw table as it is now."""
    project, spark, code = drained.project, drained.spark, drained.code
    starts = [RANGE.start + number * HOUR for number in range(hours)]
    folder = project.folder.table(project.catalog.topics["flights"].raw.table)
    raw = RawTable(folder, DeltaTable(str(folder)).version(), project.tables.raw_position("flights").reach)
    records = Records(spark, {"flights": raw}, code, dict.fromkeys(starts, IntervalBound(None, late=False)))
    table = OutputTable(drained.table, code.pipeline.intervals)
    rows = table.rows(spark, starts, table.version())
    references = References(spark, code.static, project.folder.table)
    found = measure_records(rows, table.column, starts, expectations, records=records, references=references)
    by_name: dict[str, list[Measured]] = {each.key: [] for each in expectations}
    for start in starts:
        for expectation, one in zip(expectations, found[start], strict=True):
            assert not isinstance(one, str), one
            by_name[expectation.key].append(one)
    return by_name


@pytest.mark.verify
def test_what_only_the_records_and_other_tables_know_is_measured(drained: Drained) -> None:
    counted = about("expect_interval_records_to_be_counted", column="departed")
    airlines = about("expect_column_values_to_be_in_reference", column="carrier", static="airlines")
    itself = about("expect_column_values_to_be_in_reference", column="carrier", table="departures")
    names = about(
        "expect_column_values_to_be_in_reference", column="carrier", static="airlines", reference_column="name"
    )
    fresh = about("expect_interval_to_reach_its_end", within="1 hour")
    expectations = [OFFSETS, counted, airlines, itself, names, fresh]
    found = measured(drained, expectations, hours=8)
    assert [(one.value, one.unexpected) for one in found[OFFSETS.key]] == [(0.0, 0)] * 8

    # The oracle reads the flights, not the tables: what departed and what did not, and the last one of each hour.
    sent = flights(FIRST, LAST).query("not (dep_delay > 180)")
    hours = [RANGE.start + number * HOUR for number in range(8)]
    of_hour = [sent[sent["hour_utc"] == hour] for hour in hours]
    assert [one.unexpected for one in found[counted.key]] == [int(each["dep_time"].isna().sum()) for each in of_hour]
    carriers = [each["carrier"].nunique() for each in drained_rows(drained, hours)]
    assert [one.unexpected for one in found[airlines.key]] == [one.unexpected for one in found[itself.key]] == [0] * 8
    assert all(one.rows >= least for one, least in zip(found[airlines.key], carriers, strict=True))
    assert all(one.unexpected == one.rows > 0 for one in found[names.key])  # a carrier's code is no airline's name
    assert all(one.value is not None and 0 < one.value <= 3600 for one in found[fresh.key])


def drained_rows(drained: Drained, hours: list[datetime]) -> list[pd.DataFrame]:
    rows = drained.rows()
    return [rows[rows["hour"] == hour] for hour in hours]


@pytest.mark.parametrize("what", ["missing", "repeated"])
def test_an_offset_that_is_missing_or_there_twice_is_found_where_it_is(drained: Drained, what: str) -> None:
    raw = drained.project.folder.table(drained.project.catalog.topics["flights"].raw.table)
    table = DeltaTable(str(raw))
    held = table.to_pyarrow_table()
    frame = held.select(["partition", "offset", "event_time"]).to_pandas()
    third = frame[frame["event_time"].dt.floor("h") == RANGE.start + 2 * HOUR]
    inner = third.groupby("partition")["offset"].agg(["min", "max"]).query("max - min > 1")
    partition = int(inner.index[0])
    bounds = third[third["partition"] == partition]["offset"]
    one = int(sorted(bounds)[1])
    where = (frame["partition"] == partition) & (frame["offset"] == one)
    if what == "missing":
        table.delete(f"partition = {partition} AND offset = {one}")
    else:
        write_deltalake(str(raw), held.filter(pa.array(where)), mode="append")
    found = measured(drained, [OFFSETS], hours=4)[OFFSETS.key][2]
    assert (found.value, found.unexpected) == ((1.0, 0) if what == "missing" else (0.0, 1))
    judged = judge_interval(OFFSETS, RANGE.start + 2 * HOUR, HOUR, found, {})
    assert judged.verdict is ExpectationResult.FAILS


@pytest.mark.verify
def test_what_is_proposed_is_sound_and_holds(drained: Drained, tmp_path: Path) -> None:
    proposed = as_yaml(profile_of(drained.project, drained.spark, "departures"))
    include = tmp_path / "include"
    copy_project(tmp_path)
    (include / "expectations" / "departures.yaml").write_text(proposed)
    found = scan(include, rules=(*RULES, expectations_are_known))
    assert found.faults == ()
    suite = found.catalog.expectations["departures"]
    result, _ = check_published(guarded(drained, *suite.expectations).project, drained.spark, "departures", RANGE)
    assert result.failures == ()
    assert {"expect_compound_columns_to_be_unique", "expect_column_values_to_be_in_reference"} <= {
        each.expect for each in suite.expectations
    }
