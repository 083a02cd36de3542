"""The floor of a raw table and the records below it, on real Delta tables, without Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.delta.log import raw_position
from sluice.delta.raw.raw_floor import newest_event, oldest_unread, raise_floor, remove_below
from sluice.delta.reading import dataset_of, floor_of, open_table
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import APPENDED, UpkeepPolicy, join_small_files, look_after
from sluice.delta.writer_log import WriterLog
from sluice.errors import NotReadyError
from sluice.intervals.entries import StreamEntry
from sluice.intervals.raw_floor import RawFloor
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder

COLUMNS = pa.schema(
    {
        "topic_id": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        "event_time": pa.timestamp("us", "UTC"),
    }
)
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
DAY, SKEW = timedelta(days=1), timedelta(minutes=10)
WRITER = "raw_flights:id:0"
Times = tuple[float | None, float]
"""When a record happened, and when the broker stamped it, in days; None: it does not say."""


def opened(table: Path, generation: int = 1) -> WriterLog:
    log = WriterLog(table, WRITER, generation)
    log.open()
    return log


def rows(first: int, times: Iterable[Times], *, topic: str = "id", partition: int = 0) -> pa.Table:
    each = [
        {
            "topic_id": topic,
            "partition": partition,
            "offset": first + number,
            "timestamp": START + stamped * DAY,
            "event_time": None if happened is None else START + happened * DAY,
        }
        for number, (happened, stamped) in enumerate(times)
    ]
    return pa.Table.from_pylist(each, COLUMNS)


def append(log: WriterLog, *times: Times) -> None:
    first = log.latest.end["t/0"] if log.latest else 0
    batch = log.latest.batch_id + 1 if log.latest else 0
    end = first + len(times)
    entry = StreamEntry(WRITER, log.generation, "a", batch, {"t/0": first}, {"t/0": end})
    log.append(rows(first, times), entry, batch + 1)


def with_an_old_and_a_new_record(table: Path) -> tuple[WriterLog, RawFloor]:
    """Fill a table, and put a floor between its two records on record."""
    log = opened(table)
    append(log, (1, 1), (9, 9))
    return log, raise_floor(table, floor(5), NOW)


def new_table(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    ensure_table(folder, Schema.from_arrow(COLUMNS).to_json(), configuration=APPENDED)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return new_table(tmp_path / "flights_raw")


def offsets(table: Path, version: int | None = None) -> list[int]:
    return sorted(dataset_of(table, version).to_table().column("offset").to_pylist())


def floor(day: float) -> datetime:
    return START + day * DAY


def before_a_removal(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Let something happen to a table right before each attempt to remove records, whose handle is open."""
    delete, left = DeltaTable.delete, list(acts)

    def late(delta: DeltaTable, *args: object, **named: object) -> object:
        if left:
            left.pop(0)()
        return delete(delta, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaTable, "delete", late)


def test_a_floor_is_on_record_in_every_version_from_then_on_and_in_none_before(table: Path) -> None:
    log = opened(table)
    append(log, (1, 1))
    before = open_table(table).version()
    assert floor_of(open_table(table)) is None
    assert raise_floor(table, floor(5), NOW) == RawFloor(floor(5), NOW)
    append(log, (9, 9))
    assert floor_of(open_table(table)) == RawFloor(floor(5), NOW)
    assert floor_of(open_table(table, before)) is None
    assert raw_position(table).floor == RawFloor(floor(5), NOW)


def test_a_floor_never_falls(table: Path) -> None:
    raise_floor(table, floor(5), NOW)
    version = open_table(table).version()
    assert raise_floor(table, floor(4), NOW + DAY) == RawFloor(floor(5), NOW)
    assert raise_floor(table, floor(5), NOW + DAY) == RawFloor(floor(5), NOW)
    assert open_table(table).version() == version
    assert raise_floor(table, floor(6), NOW + DAY) == RawFloor(floor(6), NOW + DAY)


def test_there_is_no_floor_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError):
        raise_floor(tmp_path / "nowhere", floor(5), NOW)


def test_what_happened_and_was_stamped_before_the_floor_goes_and_all_else_stays(table: Path) -> None:
    log = opened(table)
    append(log, (1, 1), (4.9, 4.9), (5, 5))  # 0 and 1 go
    append(log, (1, 7), (6, 2))  # 3 came late, 4 is stamped by a slow clock
    append(log, (None, 2), (None, 8))  # 5 goes
    append(log, (4.99, 4.999))  # 7 may be of later than its stamp
    assert remove_below(table, raise_floor(table, floor(5), NOW), SKEW) == 3
    assert offsets(table) == [2, 3, 4, 6, 7]
    assert log.latest is not None
    assert raw_position(table).reach.offsets == {"t/0": 8}, "it was read, and says so"


def test_a_second_round_finds_nothing_to_do(table: Path) -> None:
    append(opened(table), (1, 1), (1, 7), (9, 9))
    found = raise_floor(table, floor(5), NOW)
    assert remove_below(table, found, SKEW) == 1
    version = open_table(table).version()
    assert remove_below(table, found, SKEW) == 0
    assert open_table(table).version() == version


def test_a_version_from_before_the_removal_is_read_as_it_was(table: Path) -> None:
    append(opened(table), (1, 1), (9, 9))
    pinned = open_table(table).version()
    remove_below(table, raise_floor(table, floor(5), NOW), SKEW)
    assert (offsets(table), offsets(table, pinned)) == ([1], [0, 1])
    look_after(table, datetime.now(UTC), policy=UpkeepPolicy())
    assert offsets(table, pinned) == [0, 1], "files are kept for a day"


def test_a_live_append_wins(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, found = with_an_old_and_a_new_record(table)
    before_a_removal(monkeypatch, lambda: append(log, (8, 8), (2, 9)))
    assert remove_below(table, found, SKEW) == 1
    assert offsets(table) == [1, 2, 3]


def test_an_append_of_records_that_belong_to_it_wins_and_they_go_too(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, found = with_an_old_and_a_new_record(table)
    before_a_removal(monkeypatch, lambda: append(log, (2, 2)), lambda: append(log, (3, 3)))
    assert remove_below(table, found, SKEW) == 3
    assert offsets(table) == [1]


def test_where_records_that_belong_to_it_come_all_the_time_a_later_round_removes_them(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, found = with_an_old_and_a_new_record(table)
    before_a_removal(monkeypatch, *[lambda: append(log, (2, 2))] * 5)
    assert remove_below(table, found, SKEW) == 0
    assert len(offsets(table)) == 7
    assert remove_below(table, found, SKEW) == 6
    assert offsets(table) == [1]


def test_a_writer_that_was_asleep_goes_on_beside_floor_and_removal(table: Path) -> None:
    log = opened(table)
    append(log, (1, 1), (9, 9))
    remove_below(table, raise_floor(table, floor(5), NOW), SKEW)
    append(log, (1, 9), (9, 9))
    assert offsets(table) == [1, 2, 3]


def test_two_rounds_at_once_remove_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(opened(table), (1, 1), (2, 9), (9, 9))
    found = raise_floor(table, floor(5), NOW)
    before_a_removal(monkeypatch, lambda: remove_below(table, found, SKEW))
    assert remove_below(table, found, SKEW) == 0
    assert offsets(table) == [1, 2]


def test_a_compaction_that_began_before_brings_nothing_back(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(table)
    for day in range(20):
        append(log, (day, day))
    found = raise_floor(table, floor(5), NOW)
    optimizer = DeltaTable.optimize.fget  # type: ignore[attr-defined]

    def late(delta: DeltaTable) -> object:
        remove_below(table, found, SKEW)
        return optimizer(delta)

    monkeypatch.setattr(DeltaTable, "optimize", property(late))
    assert join_small_files(table, datetime.now(UTC) + DAY) == 0
    assert offsets(table) == list(range(5, 20))


def test_a_removal_that_began_before_a_compaction_doubles_nothing(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(table)
    for day in range(20):
        append(log, (day, day))
    found = raise_floor(table, floor(5), NOW)
    before_a_removal(monkeypatch, lambda: join_small_files(table, datetime.now(UTC) + DAY))
    assert remove_below(table, found, SKEW) == 5
    assert offsets(table) == list(range(5, 20))


@pytest.mark.proves("upkeep-killed")
def test_who_is_killed_between_floor_and_removal_leaves_a_floor_and_the_next_round_removes(
    table: Path, tmp_path: Path, faults: FaultRecorder
) -> None:
    append(opened(table), (1, 1), (9, 9))
    code = (
        "import sys; from pathlib import Path; from datetime import timedelta;"
        "from sluice.delta.raw.raw_floor import *; from sluice.clock import SystemClock;"
        "t = Path(sys.argv[1]); from datetime import datetime, UTC;"
        "remove_below(t, raise_floor(t, datetime(2026, 1, 6, tzinfo=UTC), SystemClock().now()), timedelta(minutes=10))"
    )
    environment = {
        "SLUICE_STATE": str(tmp_path / "state"),
        "SLUICE_FAILPOINT": "before_removal@flights_raw",
        "PYTHONPATH": ":".join(sys.path),
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run([sys.executable, "-c", code, str(table)], env=environment, check=False, capture_output=True)
    assert done.returncode < 0, done.stderr.decode()
    faults.struck(f"exit code {done.returncode} at before_removal")
    found = floor_of(open_table(table))
    assert found is not None
    assert (found.at, offsets(table)) == (floor(5), [0, 1])
    assert remove_below(table, found, SKEW) == 1
    faults.recovered()
    faults.counted(Census.of([1], offsets(table)), what="raw records above the floor")
    assert offsets(table) == [1]


def test_the_newest_event_is_known_from_the_log(table: Path) -> None:
    log = opened(table)
    assert newest_event(table, SKEW) is None
    append(log, (None, 3))
    assert newest_event(table, SKEW) is None
    append(log, (7, 3), (1, 9))
    assert newest_event(table, SKEW) == floor(7)


def test_no_event_is_newer_than_its_timestamp_and_the_skew(table: Path) -> None:
    log = opened(table)
    append(log, (1, 1), (1000, 1))
    assert newest_event(table, SKEW) == floor(1) + SKEW
    append(log, (3, 5))
    assert newest_event(table, SKEW) == floor(3)


def test_what_a_reader_has_not_read_is_found_if_it_is_old(table: Path) -> None:
    log = opened(table)
    append(log, (1, 1), (3, 3), (2, 4), (None, 2), (9, 9))

    def unread(day: float, **positions: int) -> datetime | None:
        places = {f"t/{name[1:]}": end for name, end in positions.items()}
        return oldest_unread(table, floor(day), places, topic_id="id")

    assert unread(5) == floor(1), "who has no position has read nothing"
    assert unread(5, p0=1) == unread(5, p0=3) == floor(2)
    assert unread(2.5, p0=4) is None
    assert unread(5, p1=9) == floor(1), "nothing of this partition was read"
    assert unread(1, p0=0) is None


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 9)), min_size=1), min_size=1)
)
def test_no_record_of_the_floor_or_later_ever_goes(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Times]]
) -> None:
    table = new_table(tmp_path_factory.mktemp("raw") / "flights_raw")
    log = opened(table)
    for batch in batches:
        append(log, *batch)
    times = [each for batch in batches for each in batch]
    remove_below(table, raise_floor(table, floor(5), NOW), SKEW)
    stays = [
        n for n, (happened, stamped) in enumerate(times) if stamped >= 5 or (happened is not None and happened >= 5)
    ]
    assert offsets(table) == stays
