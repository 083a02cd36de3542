"""Two days of flights of which one is removed from the raw table: what can still be computed, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from deltalake import DeltaTable

from sluice.delta.log import append_entry, read_log
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.repair import needed_repair
from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.entries import SettleEntry
from sluice.project.upkeep.raw_retention import retain
from sluice.settling.settler import RoundOutcome
from sluice.spark.checks.published_quality import check_published
from sluice.spark.records.pipeline import partition_column
from tests.integration.spark.backfill.backfills import RANGE, Drained
from tests.integration.spark.settling.inputs import SettlerInputs

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]
NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
FLOOR = datetime(2013, 1, 2, tzinfo=UTC)
BELOW, ABOVE = Interval(RANGE.start, FLOOR), Interval(FLOOR, RANGE.end)


@pytest.fixture
def cut(drained: Drained) -> Drained:
    """A state whose raw table keeps a day, and has lost the first of its two days; Kafka is out of reach."""
    topic = drained.project.catalog.topics["flights"]
    kept = topic.model_copy(update={"raw": topic.raw.model_copy(update={"retention": timedelta(days=1)})})
    cut = drained.with_catalog(topics={"flights": kept})
    raw = cut.project.folder.table("flights_raw")
    # A replay is stamped today: let it be stamped when it arrived.
    DeltaTable(str(raw)).update(updates={"timestamp": "arrival_time"}, predicate="arrival_time IS NOT NULL")
    cut.project.folder.stack.unlink()
    before = dataset_of(raw).count_rows()
    done = retain(cut.project, "flights", NOW)
    assert done.floor is not None
    assert (done.floor.at, done.held) == (FLOOR, "")
    assert 0 < done.removed == before - dataset_of(raw).count_rows()
    return cut


def test_what_lies_above_the_floor_is_verified_and_what_lies_below_is_named(cut: Drained) -> None:
    above = cut.run(Mode.VERIFY, over=ABOVE)
    assert above.outcome == ParityOutcome.IDENTICAL, above.why
    whole = cut.run(Mode.VERIFY)
    assert whole.outcome == ParityOutcome.INCONCLUSIVE
    assert "below the floor: since 2026-11-28, flights_raw keeps no records from before 2013-01-02 00:00" in whole.why
    assert whole.report is not None
    assert {interval for interval, why in whole.report.left.items() if why.startswith("below the floor")} == {
        Interval(FLOOR - hours * timedelta(hours=1), FLOOR - (hours - 1) * timedelta(hours=1)) for hours in range(1, 15)
    }


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.CORRECT, Mode.RECOMPUTE])
def test_a_range_below_the_floor_is_refused_and_its_rows_stay(cut: Drained, mode: Mode) -> None:
    rows, version = cut.rows(), cut.versions()
    with pytest.raises(RefusedError, match="lies below the floor: since 2026-11-28, flights_raw"):
        cut.run(mode, over=BELOW)
    assert cut.versions() == version
    assert cut.rows().equals(rows)


def below(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of intervals below the floor, in an order of their own."""
    keys = ["hour", "origin", "carrier"]
    return rows[rows["hour"] < FLOOR].sort_values(keys).reset_index(drop=True)


def test_late_records_change_what_is_whole_and_nothing_below(cut: Drained) -> None:
    rows = below(cut.rows())
    corrected = cut.run(Mode.CORRECT)
    assert all(start >= FLOOR for start in corrected.published)
    assert below(cut.rows()).equals(rows)
    again = cut.run(Mode.RECOMPUTE)
    assert again.published
    assert min(again.published) == FLOOR
    assert below(cut.rows()).equals(rows)


def test_an_interval_that_turns_dirty_below_the_floor_is_not_repaired(cut: Drained) -> None:
    newest = next(each.entry for each in reversed(read_log(cut.table)) if isinstance(each.entry, SettleEntry))
    settler = SettlerInputs.of(cut.project, cut.spark, cut.code, cut.state / "s", max_records=9, settled=cut.table)
    assert settler.rules
    start = RANGE.start
    beyond = {"flights/0": newest.sources["flights"].offsets.get("flights/0", 0) + 1}
    append_entry(cut.table, replace(newest, since=newest.settled_until, content={}, overtaken={start: beyond}))
    assert cut.ledger.rows[start].dirty
    assert needed_repair(cut.ledger, cut.code.code_hash) is None
    with pytest.raises(RefusedError, match="below the floor"):
        cut.run(Mode.RECOMPUTE, over=Interval(start, start + timedelta(hours=1)), only=Only.DIRTY)


def test_a_new_table_begins_with_the_first_whole_interval(cut: Drained, tmp_path: Path) -> None:
    table = tmp_path / "new"
    schema = DeltaTable(str(cut.table)).schema().to_json()
    ensure_table(table, schema, partition_by=[partition_column(cut.code.pipeline.intervals)])
    inputs = SettlerInputs.of(cut.project, cut.spark, cut.code, tmp_path / "s", max_records=500_000, settled=table)
    settler = inputs.settler(table, "settle:new", 1)
    while settler.round().outcome is not RoundOutcome.WAITING:
        pass
    entries = [each.entry for each in read_log(table) if isinstance(each.entry, SettleEntry)]
    assert entries[0].since == FLOOR
    assert not any(entry.lossy for entry in entries)
    own = {start: content for entry in entries for start, content in entry.content.items()}
    theirs = {start: row.current.content for start, row in cut.ledger.rows.items() if row.current and start >= FLOOR}
    assert own == {start: content for start, content in theirs.items() if content.rows}


def test_quality_is_checked_of_what_is_whole(cut: Drained) -> None:
    result, _ = check_published(cut.project, cut.spark, "departures", RANGE)
    assert result.passed, result.failures
