"""One record of a drained raw table, followed to the rows that differ without it."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

from sluice.cli.views.trace_view import print_trace
from sluice.delta.reading import dataset_of
from sluice.intervals.backfill.request import Mode
from sluice.intervals.backfill.trial import RowChange
from sluice.project.project import Project
from sluice.project.tracing.record import trace_record
from sluice.quality.reasons import Outcome, Reason
from sluice.settings import Settings
from sluice.spark.backfill.record_rows import with_rows
from sluice.tracing.address import RecordAddress
from sluice.tracing.intervals import Part
from sluice.tracing.trace import PipelineTrace, Trace
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.conftest import DriverPlace
from tests.integration.spark.settling.shape import Shape
from tests.shapes import transforms
from tests.shapes.specs import pipeline_document

HOUR = timedelta(hours=1)


def raw_rows(drained: Drained) -> pd.DataFrame:
    return dataset_of(drained.project.folder.table("flights_raw")).to_table().to_pandas()


def minutes_of(value: bytes | None) -> int:
    try:
        return int(json.loads(value or b"{}").get("dep_delay_min") or 0)
    except ValueError:
        return 0


def traced(drained: Drained, row: pd.Series) -> tuple[Trace, PipelineTrace]:
    address = RecordAddress("flights", int(row["partition"]), int(row["offset"]))
    found = with_rows(drained.project, drained.spark, trace_record(drained.project, address), limit=5)
    (departures,) = (each for each in found.pipelines if each.pipeline == "departures")
    return found, departures


def test_a_flight_is_in_the_row_of_its_airport_and_hour(drained: Drained, capsys: pytest.CaptureFixture[str]) -> None:
    rows = raw_rows(drained)
    delay = rows["arrival_time"] - rows["event_time"]
    flown = rows[(delay < HOUR) & rows["value"].map(lambda value: b"departed_at" in (value or b""))]
    origin = flown["value"].map(lambda value: json.loads(value)["origin"])
    row = max(
        (own for _, own in flown.groupby([origin, flown["key"], flown["event_time"].dt.floor("h")])), key=len
    ).iloc[0]
    found, departures = traced(drained, row)
    assert (departures.judgement.outcome, departures.judgement.whole) == (Outcome.GOOD, True)
    (interval,) = departures.intervals
    assert interval.part is Part.TAKEN
    assert departures.rows is not None
    assert not departures.rows.more
    (difference,) = departures.rows.differences
    assert (difference.interval, difference.change) == (interval.interval.start, RowChange.CHANGED)
    assert difference.key["origin"] == (found.fields or {})["origin"]
    assert int(difference.new["departed"] or 0) - int(difference.old["departed"] or 0) == 1
    print_trace(found, masked=False)
    text = capsys.readouterr().out
    assert f"departed {difference.old['departed']} → {difference.new['departed']}" in text
    assert "(without it → with it)" in text
    assert not list(drained.project.folder.staging.glob("trace-*"))

    wrong = rows[rows["key"] == b"wrong_type"].iloc[0]
    found, departures = traced(drained, wrong)
    assert (departures.judgement.outcome, departures.judgement.reason) == (Outcome.QUARANTINED, Reason.WRONG_TYPE)
    assert departures.judgement.detail.startswith("flight_id")
    assert departures.rows is not None
    assert (departures.intervals, departures.rows.differences) == ((), ())


@pytest.mark.verify
def test_a_late_flight_would_be_in_a_row_and_is_once_that_is_corrected(drained: Drained) -> None:
    rows = raw_rows(drained)
    late = rows[rows["decodes"] & (rows["arrival_time"] - rows["event_time"] > 4 * HOUR)].iloc[0]
    _, departures = traced(drained, late)
    assert departures.judgement.outcome is Outcome.LATE
    assert [each.part for each in departures.intervals] == [Part.LATE]
    assert departures.rows is not None
    (start,) = departures.rows.assumed
    assert [each.interval for each in departures.rows.differences] == [start]
    assert drained.run(Mode.CORRECT).outcome == "explained"
    _, departures = traced(drained, late)
    assert [each.part for each in departures.intervals] == [Part.TAKEN]
    assert departures.rows is not None
    assert (len(departures.rows.differences), departures.rows.assumed) == (1, frozenset())


@pytest.mark.verify
@pytest.mark.parametrize("name", ["rolling", "standings", "sessions"])
def test_windows_that_overlap_and_calls_per_interval_differ_where_the_record_is_in_them(
    drained: Drained, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)
    home = DriverPlace(tmp_path / "any").with_own_project().home
    shutil.copy(transforms.__file__, home / "spark_jobs" / "transforms" / "shapes.py")
    (home / "include" / "pipelines" / f"{name}.yaml").write_text(json.dumps(pipeline_document(name)))
    project = Project.open_strict(Settings(home=home, state=drained.state))
    shape = Shape.over(Drained(drained.state, drained.spark, project), name)
    shape.settle()
    rows = raw_rows(drained)
    delay, event = rows["arrival_time"] - rows["event_time"], rows["event_time"]
    row = rows[rows["decodes"] & (delay < HOUR) & (event > pd.Timestamp("2013-01-01T18:00Z"))].iloc[0]
    address = RecordAddress("flights", int(row["partition"]), int(row["offset"]))
    found = with_rows(project, drained.spark, trace_record(project, address), limit=500)
    own = next(each for each in found.pipelines if each.pipeline == name)
    assert own.notes == ()
    assert {each.part for each in own.intervals} == {Part.TAKEN}
    assert own.rows is not None
    assert own.rows.other_code, "the shape is settled under a hash of its own"
    reach = {"rolling": 3, "sessions": 1, "standings": 0}[name]
    assert len(own.intervals) == reach + 1
    differing = {each.interval for each in own.rows.differences}
    assert differing
    assert differing <= {each.interval.start for each in own.intervals}
    flight = str((found.fields or {})["flight_id"])
    if name == "standings":
        assert [each.key["flight_id"] for each in own.rows.differences if each.change is RowChange.ONLY_NEW] == [flight]


@pytest.mark.verify
def test_what_a_record_by_record_transform_makes_of_it_is_shown(
    drained: Drained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transforms.shapes", transforms)
    home = DriverPlace(tmp_path / "any").with_own_project().home
    shutil.copy(transforms.__file__, home / "spark_jobs" / "transforms" / "shapes.py")
    appended = {**pipeline_document("delayed"), "output": None, "outputs": [{"kind": "rows", "table": "delayed"}]}
    spec = {name: part for name, part in appended.items() if part is not None}
    (home / "include" / "pipelines" / "delayed.yaml").write_text(json.dumps(spec))
    project = Project.open_strict(Settings(home=home, state=drained.state))
    rows = raw_rows(drained)
    minutes = rows["value"].map(minutes_of)

    def made_of(row: pd.Series) -> tuple[dict[str, object], ...]:
        address = RecordAddress("flights", int(row["partition"]), int(row["offset"]))
        found = with_rows(project, drained.spark, trace_record(project, address), limit=5)
        own = next(each for each in found.pipelines if each.pipeline == "delayed")
        assert (own.intervals, own.notes) == ((), ())
        assert [(output.kind, output.commit) for output in own.outputs] == [("rows", None)]
        assert own.rows is not None
        return own.rows.alone

    timely = rows["arrival_time"] - rows["event_time"] < HOUR
    late = rows[timely & (minutes >= 15)].iloc[0]
    (made,) = made_of(late)
    assert made["flight_id"] == json.loads(late["value"])["flight_id"]
    assert made_of(rows[timely & (minutes < 15) & rows["event_time"].notna()].iloc[0]) == ()
