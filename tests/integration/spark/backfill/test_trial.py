"""Trials of changed code over what a real stream wrote: they find exactly what differs, and change nothing."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import append_entry, read_log
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.entries import Content
from sluice.intervals.ledger import State
from sluice.spark.backfill.results import ResultFolder
from sluice.spark.records.pipeline import PipelineCode
from tests.editing import edit
from tests.integration.spark.backfill.backfills import FIRST, LAST, RANGE, Drained
from tests.integration.spark.conftest import TRANSFORM, DriverPlace
from tests.oracle import flights
from tests.settlements import lacking

pytestmark = pytest.mark.timeout(600)

HOUR = timedelta(hours=1)
SHORT = Interval(RANGE.start, RANGE.start + 6 * HOUR)


def transforms() -> ModuleType:
    return importlib.import_module("transforms.departures")


def delayed_from_twenty(drained: Drained, monkeypatch: pytest.MonkeyPatch) -> PipelineCode:
    """Return code that counts a flight as delayed from 20 minutes on, which is in force until the test ends."""
    monkeypatch.setattr(transforms(), "DELAYED_FROM_MINUTES", 20)
    return replace(drained.code, code_hash="twenty")


def changed_keys() -> set[tuple[datetime, str, str]]:
    """Return the hour, airport and carrier of each row with a flight that only the former code counts as delayed."""
    table = flights(FIRST, LAST)
    table = table[table["dep_delay"].between(15, 19)]
    return {(row.hour_utc.to_pydatetime(), row.origin, row.carrier) for row in table.itertuples()}


def kept_differences(drained: Drained, backfill: str) -> list[dict[str, Any]]:
    files = sorted(drained.project.folder.backfill(backfill).glob("differences-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def key_of(difference: Mapping[str, Any]) -> tuple[datetime, str, str]:
    return datetime.fromisoformat(difference["interval"]), difference["key"]["origin"], difference["key"]["carrier"]


def published(drained: Drained) -> tuple[int, int, pd.DataFrame, str]:
    """Return what a trial must not change: version, log, rows and columns."""
    schema = DeltaTable(str(drained.table)).schema().to_json()
    return drained.versions(), len(list(read_log(drained.table))), drained.rows(), schema


def assert_unchanged(drained: Drained, before: tuple[int, int, pd.DataFrame, str]) -> None:
    after = published(drained)
    assert after[:2] == before[:2]
    assert after[2].equals(before[2])
    assert after[3] == before[3]


def contents(drained: Drained) -> dict[datetime, Content]:
    rows = drained.ledger.rows
    return {start: row.current.content for start, row in rows.items() if row.current is not None}


def test_a_trial_finds_exactly_the_rows_that_new_code_changes_and_publishes_nothing(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = published(drained)
    code = delayed_from_twenty(drained, monkeypatch)
    tried = drained.run(Mode.TRY, code=code)
    assert (tried.outcome, tried.why, tried.published, tried.passed) == ("changed", "", (), True)
    expected = changed_keys()
    assert expected
    found = kept_differences(drained, tried.backfill)
    assert [key_of(each) for each in found] == sorted(expected)
    assert all((each["change"], list(each["old"]), list(each["new"])) == ("changed", ["delayed_15"], ["delayed_15"])
               for each in found)  # fmt: skip
    assert all(int(each["old"]["delayed_15"]) > int(each["new"]["delayed_15"]) for each in found)
    assert tried.report is not None
    totals = tried.report.totals
    assert (totals.different, totals.missing, totals.extra) == (len(expected), 0, 0)
    assert totals.identical == len(before[2]) - len(expected)
    by_interval = {p.interval.start: p.counts.different for p in tried.report.intervals if p.counts.different}
    assert by_interval == pd.Series([start for start, _, _ in expected]).value_counts().to_dict()
    assert_unchanged(drained, before)
    assert {row.state(drained.code.code_hash) for row in drained.ledger.rows.values()} == {State.CLOSED}
    assert not list(drained.project.folder.staging.glob("*/*"))
    result = json.loads((drained.project.folder.backfill(tried.backfill) / "result.json").read_text())
    assert (result["code"], result["rows"]["changed"]) == ("twenty", len(expected))


@pytest.mark.verify
def test_other_code_that_gives_the_same_is_identical_also_where_late_records_are_in(drained: Drained) -> None:
    drained.run(Mode.CORRECT)
    before = published(drained)
    append_entry(drained.table, lacking(drained.ledger.closed_until, RANGE.start, read={"flights/0": 10**9}))
    tried = drained.run(Mode.TRY, code=replace(drained.code, code_hash="other"))
    assert (tried.outcome, tried.why) == ("identical", "")
    assert tried.report is not None
    assert [why.partition(":")[0] for why in tried.report.left.values()] == ["dirty"]
    assert tried.report.totals.identical == sum(before[2]["hour"] != pd.Timestamp(RANGE.start))
    assert kept_differences(drained, tried.backfill) == []


def test_columns_that_differ_are_named_and_the_others_compared(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = transforms().departures

    def with_other_columns(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
        rows = former(flights, airlines=airlines)
        renamed = rows.withColumnRenamed("airline", "airline_name")
        return renamed.withColumn("cancelled", F.col("cancelled").cast("double"))

    before = published(drained)
    monkeypatch.setattr(transforms(), "departures", with_other_columns)
    tried = drained.run(Mode.TRY, over=SHORT, code=replace(drained.code, code_hash="other"))
    assert tried.outcome == "changed"
    assert tried.report is not None
    columns, totals = tried.report.columns, tried.report.totals
    assert (columns.added, columns.dropped) == (("airline_name",), ("airline",))
    assert columns.retyped == ("cancelled: long, now double",)
    assert (totals.identical > 0, totals.differences) == (True, 0)
    assert_unchanged(drained, before)


@pytest.mark.verify
def test_a_trial_that_is_taken_up_again_goes_on_with_its_chunks_unless_the_code_is_another(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = delayed_from_twenty(drained, monkeypatch)
    first = drained.run(Mode.TRY, over=SHORT, key="once", code=code)
    folder = drained.project.folder.backfill(first.backfill)
    chunk = folder / "chunk-0.json"
    written = chunk.stat().st_mtime_ns
    assert drained.run(Mode.TRY, over=SHORT, key="once", code=code).report is not None
    assert chunk.stat().st_mtime_ns == written
    third = drained.run(Mode.TRY, over=SHORT, key="once", code=replace(code, code_hash="another"))
    assert third.backfill == first.backfill
    assert ResultFolder(folder).chunks()[0].code == "another"


@pytest.mark.verify
def test_code_that_is_put_back_computes_again_what_the_withdrawn_code_wrote(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rows = contents(drained), drained.rows()
    former = drained.code
    with monkeypatch.context() as promoted:
        new = delayed_from_twenty(drained, promoted)
        assert drained.run(Mode.RECOMPUTE, over=SHORT, only=Only.STALE, why="", code=new).outcome == "recomputed"
    changed = {start for start, content in contents(drained).items() if content != before[start]}
    assert changed
    states = {start: row.state(former.code_hash) for start, row in drained.ledger.rows.items()}
    assert {start for start, state in states.items() if state is State.STALE} == {
        start for start in before if SHORT.start <= start < SHORT.end
    }

    again = drained.run(Mode.RECOMPUTE, only=Only.STALE, why="", code=former)
    assert (again.outcome, len(again.published)) == ("recomputed", 6)
    assert contents(drained) == before
    order = ["hour", "origin", "carrier"]
    after = drained.rows().sort_values(order, ignore_index=True)
    assert after.equals(rows.sort_values(order, ignore_index=True))
    assert State.STALE not in {row.state(former.code_hash) for row in drained.ledger.rows.values()}


@pytest.mark.verify
def test_the_command_tries_what_is_on_disk_and_shows_what_differs(drained_state: Path, tmp_path: Path) -> None:
    own = DriverPlace(Path(shutil.copytree(drained_state, tmp_path / "state"))).with_own_project()

    def upgrade(*arguments: str) -> tuple[int, dict[str, Any]]:
        command = "from sluice.cli.main import main; main()"
        ended = subprocess.run(
            [sys.executable, "-c", command, "streams", "upgrade", "flights", *arguments, "-o", "json"],
            env={**os.environ, "SLUICE_HOME": str(own.home), "SLUICE_STATE": str(own.state)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return ended.returncode, json.loads(ended.stdout or "{}") | {"said": ended.stderr}

    assert upgrade("--try")[1]["pipelines"]["departures"]["skipped"].startswith("the code on disk")
    edit(own.home / TRANSFORM, "DELAYED_FROM_MINUTES = 15", "DELAYED_FROM_MINUTES = 20")
    code, found = upgrade("--try")
    assert code == 1, found
    tried = found["pipelines"]["departures"]
    assert (tried["exit_code"], len(tried["intervals"])) == (0, 24)
    shown = upgrade()[1]["pipelines"]["departures"]
    assert shown["changes"]["modules"] == [TRANSFORM]
    assert (shown["trial"]["outcome"], shown["trial"]["compared"]) == ("changed", 24)
