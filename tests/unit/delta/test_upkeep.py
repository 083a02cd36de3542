"""The tables that streams append to, looked after while they are written: on real Delta tables, without Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType

from sluice.delta.log import archive_folder, archive_log, newest_first, raw_position, read_log
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import UpkeepDone, UpkeepPolicy, join_small_files, look_after
from sluice.delta.writer_log import FencedError, WriterLog
from sluice.errors import CorruptionError, NotReadyError
from sluice.intervals.entries import StreamEntry
from tests.editing import edit

SCHEMA = Schema([Field("n", PrimitiveType("long"))]).to_json()
WRITER = "raw_flights:id:0"
POLICY = UpkeepPolicy(fewest_commits=10)
DAY = timedelta(days=1)
MANY = 18


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ensure_table(tmp_path / "flights_raw", SCHEMA, configuration=POLICY.properties())
    return tmp_path / "flights_raw"


def opened(table: Path, generation: int = 1) -> WriterLog:
    log = WriterLog(table, WRITER, generation)
    log.open()
    return log


def entry(batch: int, generation: int = 1) -> StreamEntry:
    return StreamEntry(WRITER, generation, "a", batch, {"t/0": batch}, {"t/0": batch + 1})


def fill(log: WriterLog, first: int = 0, batches: int = MANY) -> None:
    """Commit a file per batch, with its number."""
    for batch in range(first, first + batches):
        log.append(pa.table({"n": [batch]}), entry(batch, log.generation), batch + 1)


def age(table: Path, by: timedelta) -> None:
    """Make everything that the table has older, as a file system says it."""
    for file in (*table.rglob("*.parquet"), *table.rglob("*.json")):
        at = file.stat().st_mtime - by.total_seconds()
        os.utime(file, (at, at))


def now() -> datetime:
    return datetime.now(UTC)


def commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def numbers(table: Path, version: int | None = None) -> list[int]:
    return sorted(dataset_of(table, version).to_table().column("n").to_pylist())


def files(table: Path) -> int:
    return len(DeltaTable(str(table)).file_uris())


def before_a_compaction(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen to a table once another handle of it has been opened for a compaction."""
    optimizer = DeltaTable.optimize.fget  # type: ignore[attr-defined]

    def late(delta: DeltaTable) -> object:
        act()
        return optimizer(delta)

    monkeypatch.setattr(DeltaTable, "optimize", property(late))


def test_small_files_become_one_and_every_row_stays(table: Path) -> None:
    fill(opened(table))
    assert look_after(table, now() + timedelta(hours=1), policy=POLICY).joined == MANY
    assert (files(table), numbers(table)) == (1, list(range(MANY)))


def test_each_round_goes_on_from_what_the_one_half_an_hour_before_has_joined(table: Path) -> None:
    log = opened(table)
    fill(log)
    age(table, timedelta(minutes=25))
    assert look_after(table, now(), policy=POLICY).joined == MANY
    age(table, timedelta(minutes=4))
    fill(log, first=MANY)
    age(table, timedelta(minutes=25))
    assert look_after(table, now(), policy=POLICY).joined == MANY + 1
    assert (files(table), numbers(table)) == (1, list(range(2 * MANY)))


def test_files_of_the_last_minutes_are_left_alone(table: Path) -> None:
    log = opened(table)
    fill(log)
    age(table, timedelta(hours=1))
    fill(log, first=MANY, batches=5)
    assert look_after(table, now(), policy=POLICY).joined == MANY
    assert (files(table), numbers(table)) == (6, list(range(MANY + 5)))


def test_few_files_are_not_worth_a_commit(table: Path) -> None:
    fill(opened(table), batches=15)
    assert look_after(table, now() + timedelta(hours=1), policy=POLICY) == UpkeepDone()
    assert files(table) == 15


def test_a_second_round_finds_nothing_to_do(table: Path) -> None:
    fill(opened(table))
    later = now() + timedelta(hours=1)
    look_after(table, later, policy=POLICY)
    version = DeltaTable(str(table)).version()
    assert look_after(table, later, policy=POLICY) == UpkeepDone()
    assert DeltaTable(str(table)).version() == version


def test_a_writer_goes_on_beside_it_and_its_commits_win(table: Path) -> None:
    log = opened(table)
    for batch in range(48):
        fill(log, first=batch, batches=1)
        if batch % 16 == 15:
            assert join_small_files(table, now() + timedelta(hours=1))
    assert numbers(table) == list(range(48))
    assert log.latest == entry(47)


def test_where_the_table_is_rewritten_meanwhile_nothing_is_joined(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(opened(table))
    before_a_compaction(monkeypatch, lambda: write_deltalake(str(table), pa.table({"n": [7]}), mode="overwrite"))
    assert join_small_files(table, now() + timedelta(hours=1)) == 0
    assert numbers(table) == [7]


def test_two_compactions_at_once_double_nothing(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(opened(table))
    other = DeltaTable(str(table)).optimize
    before_a_compaction(monkeypatch, other.compact)
    assert join_small_files(table, now() + timedelta(hours=1)) == 0
    assert (files(table), numbers(table)) == (1, list(range(MANY)))


def test_a_round_soon_after_another_doubles_nothing(table: Path) -> None:
    log = opened(table)
    fill(log)
    age(table, timedelta(minutes=25))
    assert look_after(table, now(), policy=POLICY).joined == MANY
    fill(log, first=MANY, batches=3)
    assert look_after(table, now(), policy=POLICY).joined == 0
    assert numbers(table) == list(range(MANY + 3))


def test_an_overwrite_that_began_before_a_compaction_is_refused(table: Path) -> None:
    fill(opened(table))
    before = DeltaTable(str(table))
    assert join_small_files(table, now() + timedelta(hours=1)) == MANY
    with pytest.raises(CommitFailedError, match="concurrent transaction deleted"):
        write_deltalake(before, pa.table({"n": [7]}), mode="overwrite")
    assert numbers(table) == list(range(MANY))


def test_a_table_that_has_just_got_other_properties_is_left_to_a_later_round(table: Path) -> None:
    fill(opened(table))
    age(table, timedelta(minutes=25))
    ensure_table(table, SCHEMA, configuration=replace(POLICY, kept=2 * DAY).properties())
    assert look_after(table, now(), policy=POLICY).joined == 0
    age(table, timedelta(minutes=25))
    assert look_after(table, now(), policy=POLICY).joined == MANY
    assert numbers(table) == list(range(MANY))


def test_a_version_can_be_read_as_long_as_the_policy_says(table: Path) -> None:
    fill(opened(table))
    pinned = DeltaTable(str(table)).version()
    age(table, timedelta(hours=12))
    look_after(table, now(), policy=POLICY)
    assert (files(table), numbers(table, pinned)) == (1, list(range(MANY)))


def test_what_left_the_table_long_ago_is_removed(table: Path) -> None:
    short = replace(POLICY, left_alone=timedelta(0), kept=timedelta(0))
    ensure_table(table, SCHEMA, configuration=short.properties())
    fill(opened(table))
    rounds = [look_after(table, now() + timedelta(minutes=1), policy=short) for _ in range(2)]
    assert sum(done.removed for done in rounds) == MANY
    version = DeltaTable(str(table)).version()
    assert look_after(table, now() + timedelta(minutes=1), policy=short) == UpkeepDone()
    assert DeltaTable(str(table)).version() == version
    assert len(list(table.glob("*.parquet"))) == 1
    assert numbers(table) == list(range(MANY))


def test_what_left_the_table_is_removed_though_its_writer_makes_checkpoints_between_two_rounds(table: Path) -> None:
    short = replace(POLICY, left_alone=timedelta(0), kept=timedelta(0))
    ensure_table(table, SCHEMA, configuration=short.properties())
    fill(opened(table))
    assert join_small_files(table, now() + timedelta(minutes=1)) == MANY
    DeltaTable(str(table)).create_checkpoint()
    assert look_after(table, now(), policy=short).removed == MANY
    assert numbers(table) == list(range(MANY))


def test_nothing_is_removed_while_somebody_may_read_it(table: Path) -> None:
    short = replace(POLICY, left_alone=timedelta(0), kept=timedelta(0))
    ensure_table(table, SCHEMA, configuration=short.properties())
    fill(opened(table))
    age(table, 2 * DAY)
    before = commits(table)
    assert look_after(table, now(), pinned=True, policy=short) == UpkeepDone(joined=MANY)
    assert (len(list(table.glob("*.parquet"))), commits(table)) == (MANY + 1, before + 1)


def test_files_that_a_killed_writer_left_are_removed_after_a_week(table: Path) -> None:
    fill(opened(table), batches=1)
    orphan = table / "part-00000-killed.parquet"
    for days, left in ((6, True), (8, False)):
        orphan.write_bytes(b"PAR1")
        os.utime(orphan, ((now() - days * DAY).timestamp(),) * 2)
        assert look_after(table, now(), policy=POLICY).removed == (not left)
        assert orphan.exists() is left
    assert numbers(table) == [0]


def test_old_commits_leave_the_log_and_the_copy_has_their_entries(table: Path) -> None:
    log = opened(table)
    fill(log)
    before = read_log(table)
    age(table, 2 * DAY)
    assert look_after(table, now(), policy=POLICY).cut >= MANY
    assert commits(table) < 10
    assert read_log(table) == before
    fill(log, first=MANY, batches=3)
    assert opened(table, 2).latest == entry(MANY + 2)
    assert numbers(table) == list(range(MANY + 3))


def test_the_log_of_a_quiet_table_is_left_as_it_is(table: Path) -> None:
    fill(opened(table))
    age(table, 4 * DAY)
    assert look_after(table, now() + 2 * DAY, policy=POLICY).cut == 0
    assert commits(table) > MANY


def test_how_far_a_quiet_table_goes_is_known_without_its_log(table: Path) -> None:
    fill(opened(table))
    age(table, 2 * DAY)
    look_after(table, now(), policy=POLICY)
    position = raw_position(table)
    assert position.reach.offsets == {"t/0": MANY}
    assert numbers(table, position.version) == list(range(MANY))
    assert opened(table).latest == entry(MANY - 1)


def test_a_table_that_no_stream_has_written_goes_nowhere(table: Path) -> None:
    opened(table)
    assert raw_position(table).version == -1


def test_a_writer_that_slept_all_the_while_learns_that_it_is_fenced(table: Path) -> None:
    asleep = opened(table, 1)
    fill(asleep)
    opened(table, 2)
    age(table, 2 * DAY)
    assert look_after(table, now(), policy=POLICY).cut
    with pytest.raises(FencedError, match="generation 2"):
        fill(asleep, first=MANY, batches=1)
    assert numbers(table) == list(range(MANY))


def test_the_copy_keeps_35_days_and_each_writers_newest_entry(table: Path) -> None:
    fill(opened(table))
    age(table, 2 * DAY)
    look_after(table, now(), policy=POLICY)
    assert len(read_log(table)) == MANY + 1
    fill(opened(table), first=MANY, batches=MANY)
    age(table, 2 * DAY)
    look_after(table, now(), policy=replace(POLICY, entries_kept=timedelta(0)))
    kept = [logged.entry for logged in newest_first(table)]
    assert kept[-1] == entry(2 * MANY - 1)
    assert len(kept) < POLICY.fewest_commits


def test_the_log_of_the_copy_is_cut_as_well(table: Path) -> None:
    copy, rounds, counts = archive_folder(table), 4, []
    for number in range(rounds):
        fill(opened(table), first=number * MANY)
        age(table, 2 * DAY)
        if copy.exists():
            age(copy, 2 * DAY)
        look_after(table, now(), policy=POLICY)
        counts.append(commits(copy))
    assert counts[-1] == counts[1], counts
    assert [logged.entry.batch_id for logged in read_log(table) if isinstance(logged.entry, StreamEntry)] == list(
        range(rounds * MANY)
    )


def test_the_log_of_a_table_whose_entries_cannot_be_copied_is_not_cut(table: Path) -> None:
    fill(opened(table))
    age(table, 2 * DAY)
    archive_log(table)
    fill(opened(table))
    before = commits(table)
    edit(max((table / "_delta_log").glob("*.json")), '\\"kind\\":\\"stream\\"', '\\"kind\\":\\"brook\\"')
    age(table, 2 * DAY)
    with pytest.raises(CorruptionError):
        look_after(table, now(), policy=POLICY)
    assert commits(table) >= before


def test_no_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="there is no table"):
        look_after(tmp_path / "none", now())
