"""Backfills of what a real stream wrote: verify, correct, recompute; resumed, cancelled, refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from uuid import UUID

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from sluice.delta.log import append_entry, read_log
from sluice.delta.reading import read_rows
from sluice.errors import NotReadyError, RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState, OverlapError
from sluice.intervals.backfill.bounds import IntervalBound
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.entries import AttemptEntry, BackfillEntry
from sluice.intervals.ledger import State
from sluice.intervals.reach import Reach
from sluice.launch.backfill_claim import claimed
from sluice.spark.backfill.publishing import Publication
from sluice.spark.checks.published_quality import check_published
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.tables.raw_table import RawTable
from sluice.spark.tables.records import Records
from tests.integration.spark.backfill.backfills import FIRST, LAST, RANGE, Drained
from tests.oracle import departures, differences, flights
from tests.settlements import lacking
from tests.twins.lineage_server import LineageServer, lineage_server

pytestmark = pytest.mark.timeout(600)

HOUR = timedelta(hours=1)
SHORT = Interval(RANGE.start, RANGE.start + 6 * HOUR)


def in_days(code: PipelineCode) -> PipelineCode:
    """Return code whose backfills publish a day at a time."""
    rules = code.pipeline.backfill.model_copy(update={"chunk": timedelta(days=1)})
    return replace(code, pipeline=code.pipeline.model_copy(update={"backfill": rules}))


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[LineageServer]:
    """Collect lineage, as part of a run of somebody's."""
    with lineage_server() as found:
        transport = {"type": "http", "url": found.address}
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT", json.dumps(transport))
        monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"prod/backfill_departures.run/{UUID(int=7)}")
        yield found


def publications(drained: Drained) -> list[BackfillEntry]:
    return [logged.entry for logged in read_log(drained.table) if isinstance(logged.entry, BackfillEntry)]


def test_verify_then_correct_then_verify_again(drained: Drained, collector: LineageServer) -> None:
    before = drained.rows()
    verified = drained.run(Mode.VERIFY)
    assert (verified.outcome, verified.why, verified.published) == ("identical", "", ())
    assert drained.rows().equals(before)
    assert verified.report is not None
    assert verified.report.totals.identical == len(before)
    code = drained.code.code_hash
    assert all(row.verified_by(code) for row in drained.ledger.rows.values())

    corrected = drained.run(Mode.CORRECT)
    assert (corrected.outcome, corrected.why) == ("explained", "")
    assert differences(drained.rows(), departures(FIRST, LAST, with_late=True)) == []
    (entry,) = publications(drained)
    late = flights(FIRST, LAST).query("dep_delay > 180")["hour_utc"].to_list()
    assert set(entry.content) == set(late) == set(corrected.published)
    assert corrected.report is not None
    assert corrected.report.totals.late == len(late)
    assert (corrected.report.explained > 0, corrected.report.unexplained) == (True, 0)
    folder = drained.project.folder.backfill(corrected.backfill)
    assert json.loads((folder / "result.json").read_text())["published"] == len(entry.content)
    assert {"parity.json", "parity.html", "quality.json", "quality.html"} <= {p.name for p in folder.iterdir()}
    assert not list(drained.project.folder.staging.glob("*/*"))

    # The base is still there, in an older version; once its files are vacuumed, nothing can be said any more.
    (first, *_) = corrected.published
    touched = Interval(first, first + HOUR)
    assert drained.run(Mode.VERIFY, over=touched).outcome == "identical"
    DeltaTable(str(drained.table)).vacuum(0, full=True, enforce_retention_duration=False, dry_run=False)
    blind = drained.run(Mode.VERIFY, over=touched)
    assert blind.outcome == "inconclusive"
    assert "vacuumed" in blind.why
    assert_told(drained, collector, corrected.backfill, entry)


def assert_told(drained: Drained, collector: LineageServer, corrected: str, entry: BackfillEntry) -> None:
    """Lineage heard of each of the backfills, and of the one that published what the log says."""
    assert collector.types == [("backfill.departures", kind) for kind in ["START", "COMPLETE"] * 3 + ["START", "FAIL"]]
    first, last = (
        event for event in collector.events if event["run"]["facets"]["sluice_state"]["backfill"] == corrected
    )
    assert first["run"]["runId"] == last["run"]["runId"]
    assert last["run"]["facets"]["parent"]["job"]["name"] == "backfill_departures.run"
    (output,) = last["outputs"]
    assert output["name"] == str(drained.table)
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == sum(held.rows for held in entry.content.values())
    published = next(logged.version for logged in read_log(drained.table) if logged.entry == entry)
    assert output["facets"]["version"]["datasetVersion"] == str(published)
    assert "carrier" in [field["name"] for field in output["facets"]["schema"]["fields"]]
    assert all(each["success"] for each in output["facets"]["dataQualityAssertions"]["assertions"])
    assert {Path(each["name"]).name for each in last["inputs"]} == {"flights_raw", "airlines.csv"}


@pytest.mark.verify
def test_a_recompute_publishes_in_chunks_and_its_repetition_changes_nothing(drained: Drained) -> None:
    with pytest.raises(RefusedError, match="no reason"):
        drained.run(Mode.RECOMPUTE, why="")
    code = in_days(drained.code)
    result = drained.run(Mode.RECOMPUTE, key="once", code=code)
    assert (result.outcome, result.why) == ("recomputed", "")
    assert differences(drained.rows(), departures(FIRST, LAST)) == []
    chunks = publications(drained)
    assert [len(entry.content) for entry in chunks] == [24, 19]
    assert {row.state(code.code_hash) for row in drained.ledger.rows.values()} == {State.PUBLISHED}
    paths = DeltaTable(str(drained.table)).file_uris()
    assert len(paths) == drained.rows()["hour"].nunique()

    version = drained.versions()
    again = drained.run(Mode.RECOMPUTE, key="once", code=code)
    assert drained.versions() == version
    assert (again.published, again.outcome) == (result.published, result.outcome)
    assert again.report is not None
    assert result.report is not None
    assert again.report.totals == result.report.totals


@pytest.mark.verify
def test_a_chunk_that_has_something_to_publish_only_when_it_is_resumed_is_published(drained: Drained) -> None:
    code, starts = in_days(drained.code), sorted(drained.ledger.rows)

    def soil(start: datetime) -> None:
        """Let a backfill have published the interval that had read no record, and its records have come since."""
        held = drained.ledger.rows[start].current
        assert held is not None
        content = {start: held.content}
        earlier = BackfillEntry("earlier", "recompute", "tests", "a test", {}, {}, content, code.code_hash, "passed")
        append_entry(drained.table, earlier)
        append_entry(drained.table, lacking(drained.ledger.closed_until, start, read={"flights/0": 1}))

    soil(starts[-1])
    first = drained.run(Mode.RECOMPUTE, key="k", code=code, only=Only.DIRTY)
    assert (first.outcome, first.published) == ("recomputed", (starts[-1],))
    soil(starts[0])
    resumed = drained.run(Mode.RECOMPUTE, key="k", code=code, only=Only.DIRTY)
    assert (resumed.outcome, resumed.why) == ("recomputed", "")
    assert not any(row.dirty for row in drained.ledger.rows.values())
    assert [len(entry.content) for entry in publications(drained) if entry.backfill != "earlier"] == [1, 1]


@pytest.mark.verify
def test_a_backfill_that_fails_says_what_it_published_before(drained: Drained, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Publication.publish

    def refuse_the_second(publication: Publication, rows: DataFrame) -> int:
        if publication.chunk:
            raise RefusedError("somebody was quicker.")
        return publish(publication, rows)

    monkeypatch.setattr(Publication, "publish", refuse_the_second)
    with pytest.raises(RefusedError):
        drained.run(Mode.RECOMPUTE, key="k", code=in_days(drained.code))
    found = drained.project.records.backfills().recent("departures")[0]
    folder = drained.project.folder.backfill(found.id)
    result = json.loads((folder / "result.json").read_text())
    assert (result["outcome"], result["why"], result["passed"]) == ("failed", "somebody was quicker.", False)
    assert result["published"] == result["compared"] == len(publications(drained)[0].content) > 0
    assert (folder / "parity.html").is_file()


@pytest.mark.verify
def test_a_cancelled_backfill_ends_between_chunks_and_goes_on_under_its_key(drained: Drained) -> None:
    record = drained.project.records.backfills()

    def cancel() -> None:
        while not (running := [b for b in record.recent("departures") if b.state is BackfillState.RUNNING]):
            pass
        record.ask_cancel(running[0].id, "somebody")

    asker = Thread(target=cancel)
    asker.start()
    stopped = drained.run(Mode.RECOMPUTE, key="k", code=in_days(drained.code))
    asker.join()
    assert (stopped.outcome, stopped.passed) == ("cancelled", False)
    assert len(stopped.published) < 43
    assert record.get(stopped.backfill).state is BackfillState.CANCELLED
    finished = drained.run(Mode.RECOMPUTE, key="k", code=in_days(drained.code))
    assert finished.backfill == stopped.backfill
    assert (finished.outcome, len(finished.published)) == ("recomputed", 43)
    assert record.get(finished.backfill).done == record.get(finished.backfill).total


def test_a_range_that_another_backfill_works_on_is_refused_with_its_id(drained: Drained) -> None:
    other = Request("departures", SHORT, Mode.VERIFY, "somebody")
    with (
        claimed(drained.project.records.backfills(), drained.project.folder.backfills, other, "other") as working,
        pytest.raises(OverlapError, match=working.id),
    ):
        drained.run(Mode.VERIFY)
    # Its process let go of the lock without a word on record: it is dead, and no longer in the way.
    assert drained.run(Mode.VERIFY, over=SHORT).outcome == "identical"
    assert drained.project.records.backfills().get(working.id).state is BackfillState.FAILED


def test_what_is_not_there_to_compare_is_no_pass(drained: Drained) -> None:
    future = Interval(RANGE.end + 30 * HOUR, RANGE.end + 32 * HOUR)
    nothing = drained.run(Mode.VERIFY, over=future)
    assert (nothing.outcome, nothing.passed) == ("inconclusive", False)
    assert drained.run(Mode.RECOMPUTE, only=Only.DIRTY).outcome == "inconclusive"


def test_each_interval_takes_the_records_below_its_own_offsets(drained: Drained) -> None:
    folder = drained.project.folder.table("flights_raw")
    raw = RawTable.pin(folder, drained.project.tables.raw_position("flights"), drained.code.sources["flights"].topic)
    rows = read_rows(folder).to_pandas()
    half = {partition: end // 2 for partition, end in raw.reach.offsets.items()}
    hours = rows["event_time"].dt.floor("h")
    below = rows["offset"] < rows["partition"].map({int(p.rpartition("/")[2]): end for p, end in half.items()})
    first = min(set(hours[below].dropna()) & set(hours[~below].dropna())).to_pydatetime()
    second = RANGE.end - 6 * HOUR
    below_half = replace(raw.reach, offsets=half)
    bounds = {first: IntervalBound(below_half, late=False), second: IntervalBound(raw.reach, late=False)}

    expected = int(((hours == first) & below).sum() + (hours == second).sum())
    records = Records(drained.spark, {"flights": raw}, drained.code, bounds)
    assert 0 < expected < int(hours.isin([first, second]).sum())
    assert records.count() == expected
    halves = {first: bounds[first], second: IntervalBound(below_half, late=False)}
    everywhere = Records(drained.spark, {"flights": raw}, drained.code, halves)
    assert everywhere.count() == int((hours.isin([first, second]) & below).sum())


def test_of_a_topic_that_was_created_again_only_the_newest_is_bounded_and_what_came_later_is_left_out(
    drained: Drained,
) -> None:
    folder = drained.project.folder.table("flights_raw")
    raw = RawTable.pin(folder, drained.project.tables.raw_position("flights"), drained.code.sources["flights"].topic)
    (topic,) = raw.reach.topics
    held = int(read_rows(folder).to_pandas()["event_time"].dt.floor("h").isin([RANGE.start, RANGE.start + HOUR]).sum())
    everything, nothing = raw.reach.offsets, dict.fromkeys(raw.reach.offsets, 0)

    def count(one: Reach, other: Reach) -> int:
        bounds = {RANGE.start: IntervalBound(one, late=False), RANGE.start + HOUR: IntervalBound(other, late=False)}
        return Records(drained.spark, {"flights": raw}, drained.code, bounds).count()

    before, after = Reach(everything, ("older",)), Reach(nothing, (topic, "newer"))
    assert count(before, before) == 0  # whoever read the topic before this one was created read nothing of it
    assert count(after, after) == held > 0
    one, other = count(before, after), count(after, before)
    assert 0 < one < held
    assert one + other == held


@pytest.mark.verify
def test_versions_of_long_ago_are_compared_as_long_as_their_files_are_there(
    drained: Drained, tmp_path: Path, spark: SparkSession
) -> None:
    assert drained.run(Mode.CORRECT).passed
    raw = drained.project.folder.table("flights_raw")
    past = (datetime.now(UTC) - timedelta(days=9)).timestamp()
    for file in [*(raw / "_delta_log").iterdir(), *(drained.table / "_delta_log").iterdir()]:
        os.utime(file, (past, past))
    append_entry(raw, AttemptEntry("raw_flights:id:0", 9, "code"))  # the newest commit is none that has records
    later = Drained.copy(drained.state, tmp_path / "later", spark)  # where Spark remembers nothing
    assert later.run(Mode.VERIFY).outcome == "identical"
    assert check_published(later.project, spark, "departures", RANGE)[0].passed


def test_what_is_not_closed_is_not_checked(drained: Drained) -> None:
    future = Interval(RANGE.end + 30 * HOUR, RANGE.end + 32 * HOUR)
    with pytest.raises(NotReadyError, match="there is nothing to check"):
        check_published(drained.project, drained.spark, "departures", future)
    assert not drained.project.folder.quality("departures").exists()


@pytest.mark.verify
def test_the_published_table_is_checked_and_the_result_kept(drained: Drained, collector: LineageServer) -> None:
    result, page = check_published(drained.project, drained.spark, "departures", None)
    assert result.passed
    assert result.rows == len(drained.rows())
    assert "passed" in page.read_text()
    DeltaTable(str(drained.table)).update({"delayed_15": "departed + 1"}, predicate="origin = 'EWR'")
    result, page = check_published(drained.project, drained.spark, "departures", RANGE)
    assert not result.passed
    assert "failed" in page.read_text()
    assert len(list(page.parent.glob("2*.json"))) == 2
    assert collector.types == [("quality.departures", kind) for kind in ("START", "COMPLETE", "START", "FAIL")]
    (table,) = collector.events[-1]["inputs"]
    assert table["inputFacets"]["inputStatistics"]["rowCount"] == result.rows
    assert not all(each["success"] for each in table["inputFacets"]["dataQualityAssertions"]["assertions"])
