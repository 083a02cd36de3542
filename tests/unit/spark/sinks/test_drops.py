from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from deltalake import Field, Schema
from deltalake.schema import PrimitiveType
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from sluice.delta.log import read_log
from sluice.delta.table import ensure_table
from sluice.delta.writer_log import FencedError, WriterLog
from sluice.intervals.coverage import Position
from sluice.intervals.entries import DirtyEntry, StreamEntry
from sluice.spark.sinks.drops import Before, Drops, dropped_windows
from sluice.spark.sinks.sink import MicroBatch
from sluice.specs.model.outputs import IntervalsOutput
from sluice.streams.position.checkpoint import Checkpoint

HOUR = timedelta(hours=1)
DAY = datetime(2013, 1, 1, tzinfo=UTC)


def at(hour: float) -> datetime:
    return DAY + hour * HOUR


def batch(*, drops_until: datetime | None, end: int = 20, lineage: str = "a") -> MicroBatch:
    return MicroBatch(2, lineage, {"t/0": 0}, {"t/0": 10}, Position({"t/0": end}, at(9)), drops_until)


# Which windows lost records.


def test_a_window_that_ends_at_the_watermark_before_is_dropped_and_a_later_one_is_not() -> None:
    assert dropped_windows({at(3), at(4), at(1)}, (), batch(drops_until=at(4)), HOUR, None) == [at(1), at(3)]


def test_nothing_is_dropped_before_the_first_watermark() -> None:
    assert dropped_windows({at(1)}, (), batch(drops_until=None), HOUR, None) == []


@given(st.sets(st.integers(0, 48)), st.integers(0, 48 * 60))
def test_a_window_is_dropped_if_and_only_if_the_watermark_before_has_passed_its_end(
    hours: set[int], minutes: int
) -> None:
    watermark = DAY + timedelta(minutes=minutes)
    found = dropped_windows({at(hour) for hour in hours}, (), batch(drops_until=watermark), HOUR, None)
    assert found == sorted(at(hour) for hour in hours if (hour + 1) * 60 <= minutes)


def before(end: int | None) -> Before:
    """Return what an earlier lineage has left that closed all windows until three."""
    return Before(at(3), None if end is None else {"t/0": end})


def test_what_an_earlier_lineage_has_taken_is_not_missing_when_it_is_read_again() -> None:
    again = batch(drops_until=at(4), end=20)
    assert before(20).read_whole(again)
    assert dropped_windows({at(1), at(2), at(3)}, (), again, HOUR, before(20)) == [at(3)]


def test_of_what_no_earlier_lineage_has_read_all_is_missing_that_one_of_the_two_closed() -> None:
    touched = {at(1), at(2), at(3), at(4)}
    for drops_until, missing in ((at(4), [at(1), at(2), at(3)]), (at(1), [at(1), at(2)]), (None, [at(1), at(2)])):
        batched = batch(drops_until=drops_until)
        assert dropped_windows(touched, touched, batched, HOUR, before(10)) == missing
        assert dropped_windows(touched, touched, batched, HOUR, before(None)) == missing


def test_the_rest_of_a_batch_begins_where_the_earlier_lineage_ended() -> None:
    batched = batch(drops_until=None)
    assert before(10).beyond(batched) is batched
    assert before(None).beyond(batched) is batched
    assert before(15).beyond(batched).start == {"t/0": 15}
    assert before(99).beyond(batched).start == {"t/0": 20}
    assert [before(end).read_whole(batched) for end in (19, 20, None)] == [False, True, False]


# The account.


@dataclass
class Report:
    """What a query says of one batch; without `windows` it is an idle event."""

    batchId: int  # noqa: N815  Spark's name
    windows: list[datetime] | None

    @property
    def observedMetrics(self) -> dict[str, dict[str, list[int]]]:  # noqa: N802  Spark's name
        if self.windows is None:
            return {}
        return {"seen": {"windows": [int(start.timestamp() * 1_000_000) for start in self.windows]}}


@dataclass
class Query:
    """A query that has reported so much."""

    recentProgress: list[Report] = field(default_factory=list)  # noqa: N815  Spark's name

    @property
    def lastProgress(self) -> Report | None:  # noqa: N802  Spark's name
        return self.recentProgress[-1] if self.recentProgress else None


class Bench:
    """A stream of hourly windows, its checkpoint and its table."""

    def __init__(self, folder: Path, interval: str) -> None:
        self.checkpoint = folder / "checkpoint"
        self.table = folder / "out"
        self.query = Query()
        self.read_again: list[int] = []
        self.read_from: list[int] = []
        self.touched: set[datetime] = set()
        """What reading a batch again finds."""
        self.output = IntervalsOutput(table="out", time_column="hour", window=HOUR, interval=interval)  # type: ignore[arg-type]
        ensure_table(self.table, Schema([Field("n", PrimitiveType("long"))]).to_json())
        for part in ("offsets", "commits", "sources/0"):
            (self.checkpoint / part).mkdir(parents=True)
        (self.checkpoint / "metadata").write_text(json.dumps({"id": "a"}))
        (self.checkpoint / "sources/0/0").write_text(json.dumps({"t": {"0": 0}}))

    def committed(self, *batches: tuple[int, float]) -> None:
        """Write the checkpoint of batches, each with its end offset and the watermark (hours) that it evicts by."""
        for number, (end, hour) in enumerate(batches):
            metadata = json.dumps({"batchWatermarkMs": int(at(hour).timestamp() * 1000) if hour else 0})
            (self.checkpoint / "offsets" / str(number)).write_text(f"v1\n{metadata}\n{json.dumps({'t': {'0': end}})}")
            (self.checkpoint / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def wrote(self, end: int, closed: float, topic: str = "topic") -> None:
        """Let an earlier lineage have closed windows."""
        log = WriterLog(self.table, f"w:{topic}:0", 1)
        log.open()
        entry = StreamEntry(log.writer, 1, "earlier", 7, {}, {"t/0": end}, watermark=at(closed))
        log.append(pa.table({"n": [1]}), entry, 2 * end)

    def drops(self, generation: int = 1, *, watched: bool = True) -> Drops:
        log = WriterLog(self.table, "w:topic:0", generation)
        log.open()
        drops = Drops(self.output, Checkpoint(self.checkpoint), log, self._read)
        if watched:
            drops.watch(cast("StreamingQuery", self.query))
        return drops

    def _read(self, batch: MicroBatch) -> set[datetime]:
        self.read_again.append(batch.batch_id)
        self.read_from.append(batch.start["t/0"])
        return self.touched

    def marks(self) -> list[DirtyEntry]:
        return [logged.entry for logged in read_log(self.table) if isinstance(logged.entry, DirtyEntry)]


def report(bench: Bench, drops: Drops, newest: Report) -> None:
    """Let the query report, and the driver see it."""
    bench.query.recentProgress.append(newest)
    drops.settle_reported(cast("StreamingQueryProgress", newest))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path, "hour")
    bench.committed((10, 0), (20, 5), (30, 8), (30, 9))
    return bench


def test_a_batch_that_dropped_is_marked_with_its_intervals_and_end(bench: Bench) -> None:
    bench.query.recentProgress = [Report(2, [at(1), at(4), at(5), at(8)])]
    bench.drops().settle(2)
    (mark,) = bench.marks()
    assert (mark.intervals, mark.end, mark.batch_id) == ((at(1), at(4)), {"t/0": 30}, 2)
    assert "dropped records of 2 closed windows" in mark.why
    assert bench.read_again == []


def test_windows_of_one_interval_are_one_mark(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "day")
    bench.committed((10, 0), (20, 30), (30, 31))
    bench.query.recentProgress = [Report(2, [at(1), at(4), at(25), at(40)])]
    bench.drops().settle(2)
    assert [mark.intervals for mark in bench.marks()] == [(at(0), at(24))]


def test_a_batch_is_settled_once_by_whoever_comes_first(bench: Bench) -> None:
    drops = bench.drops()
    report(bench, drops, Report(2, [at(1)]))
    drops.settle(2)
    report(bench, drops, Report(2, [at(1)]))
    assert len(bench.marks()) == 1


def test_an_idle_event_hides_no_batch(bench: Bench) -> None:
    bench.query.recentProgress = [Report(2, [at(1)])]
    drops = bench.drops()
    report(bench, drops, Report(3, None))
    assert bench.marks() == []
    drops.settle(2)
    assert len(bench.marks()) == 1


@pytest.mark.parametrize("watched", [True, False])
def test_a_batch_of_which_nobody_reports_is_read_again(bench: Bench, *, watched: bool) -> None:
    bench.touched = {at(2)}
    drops = bench.drops(watched=watched)
    drops.settle(2)
    drops.settle(2)
    assert bench.read_again == [2]
    assert [mark.intervals for mark in bench.marks()] == [(at(2),)]


def test_after_a_crash_the_newest_committed_batch_is_read_again_and_marked_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "hour")
    bench.committed((10, 0), (20, 5), (30, 8))
    bench.touched = {at(2)}
    for generation in (1, 2):
        bench.drops(generation, watched=False).settle_newest()
    assert bench.read_again == [2, 2]
    assert len(bench.marks()) == 1


def test_a_batch_that_can_have_dropped_nothing_is_not_read(bench: Bench) -> None:
    for number in (0, 1, 3):  # the first; no watermark before it; no input
        bench.drops(watched=False).settle(number)
    assert bench.read_again == []
    assert bench.marks() == []


def test_a_fresh_checkpoint_has_nothing_to_settle(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "hour")
    bench.drops(watched=False).settle_newest()
    assert bench.marks() == []


def test_a_driver_that_a_newer_one_has_fenced_marks_nothing(bench: Bench) -> None:
    old = bench.drops(1)
    bench.drops(2)
    bench.query.recentProgress = [Report(2, [at(1)])]
    with pytest.raises(FencedError):
        old.settle(2)
    assert bench.marks() == []


def test_a_lineage_that_reads_everything_again_lacks_what_came_since_for_windows_that_are_closed(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, "hour")
    bench.wrote(12, closed=5)
    bench.committed((10, 0), (20, 2), (30, 4))
    bench.query.recentProgress = [Report(number, [at(0), at(4), at(6)]) for number in range(3)]
    bench.touched = {at(4)}
    drops = bench.drops(2)
    drops.settle(0)
    assert (bench.marks(), bench.read_again) == ([], []), "it was read before"
    drops.settle(1)
    assert bench.read_from == [12], "of a batch that was read in part, the rest"
    drops.settle(2)
    assert [(mark.batch_id, mark.intervals) for mark in bench.marks()] == [(1, (at(4),)), (2, (at(0), at(4)))]
    assert bench.read_from == [12]


def test_a_driver_that_dies_after_its_lineages_first_commit_leaves_no_window_unmarked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "hour")
    bench.wrote(12, closed=5)
    bench.committed((20, 0))
    bench.touched = {at(4)}
    log = WriterLog(bench.table, "w:topic:0", 1)
    log.open()
    log.append(pa.table({"n": [2]}), StreamEntry(log.writer, 1, "a", 0, {}, {"t/0": 20}, watermark=at(6)), 40)
    bench.drops(2, watched=False).settle_newest()
    assert [mark.intervals for mark in bench.marks()] == [(at(4),)]
    assert bench.read_from == [0, 12]


def test_of_a_topic_that_was_created_again_nothing_was_read_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "hour")
    bench.wrote(99, closed=5, topic="former")
    bench.committed((10, 0))
    bench.query.recentProgress = [Report(0, [at(4), at(6)])]
    bench.drops(2).settle(0)
    assert [mark.intervals for mark in bench.marks()] == [(at(4),)]
    assert bench.read_again == []
