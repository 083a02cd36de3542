from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from sluice.delta.log import (
    append_entry,
    archive_folder,
    archive_log,
    has_commit_after,
    newest_first,
    newest_generation,
    newest_stream_entry,
    raw_position,
    read_log,
)
from sluice.delta.table import ensure_table
from sluice.errors import CorruptionError
from sluice.intervals.entries import AttemptEntry, StreamEntry, VerifiedEntry
from sluice.intervals.reach import RawPosition, Reach
from sluice.storage.folder import Folder

SCHEMA = Schema([Field("n", PrimitiveType("long"))]).to_json()


def stream_entry(writer: str = "w", batch: int = 0) -> StreamEntry:
    return StreamEntry(writer, 1, "a", batch, {}, {"t/0": batch})


def verified_entry(number: int) -> VerifiedEntry:
    return VerifiedEntry(f"b{number}", (datetime(2013, 1, 1, tzinfo=UTC),), "code", as_of=number)


@pytest.fixture
def table(place: Folder) -> Folder:
    ensure_table(place / "out", SCHEMA)
    return place / "out"


def forget(table: Folder, *versions: int) -> None:
    """Remove commits as Delta does once a checkpoint holds what they amount to."""
    DeltaTable(str(table)).create_checkpoint()
    for version in versions:
        (table / "_delta_log" / f"{version:020}.json").unlink(missing_ok=True)


def test_entries_are_read_oldest_first_with_their_versions(table: Folder) -> None:
    versions = [append_entry(table, verified_entry(batch)) for batch in range(3)]
    assert [(e.version, e.entry) for e in read_log(table)] == [(v, verified_entry(b)) for b, v in enumerate(versions)]
    assert all(e.at.tzinfo is UTC for e in read_log(table))
    assert [e.version for e in read_log(table, after=versions[0])] == versions[1:]
    assert list(newest_first(table)) == read_log(table)[::-1]


def test_a_table_that_is_not_there_has_no_entries(place: Folder) -> None:
    assert read_log(place / "none") == list(newest_first(place / "none")) == []
    assert newest_stream_entry(place / "none") is None


def test_a_raw_table_tells_how_far_it_goes_and_in_which_topic(table: Folder) -> None:
    assert raw_position(table) == RawPosition()
    version = append_entry(table, stream_entry("raw_t:id:0", 7))
    newest = append_entry(table, verified_entry(9))
    assert newest > version
    assert raw_position(table) == RawPosition(newest, Reach({"t/0": 7}, ("id",)))


def test_a_newer_commit_is_seen_without_opening_the_table(table: Folder, place: Folder) -> None:
    version = append_entry(table, stream_entry())
    assert not has_commit_after(table, version)
    append_entry(table, stream_entry(batch=1))
    assert has_commit_after(table, version)
    assert not has_commit_after(place / "none", RawPosition().version)


def test_a_read_beside_a_writer_gives_each_entry_its_own_version(table: Folder) -> None:
    done = Event()

    def write() -> None:
        batch = 1  # version 0 made the table
        while not done.is_set():
            append_entry(table, verified_entry(batch))
            batch += 1

    writer = Thread(target=write)
    writer.start()
    try:
        while len(read_log(table)) < (
            100 if isinstance(table, Path) else 10
        ):  # a request for each commit of a bucket's
            for entries in (read_log(table), list(newest_first(table))[::-1]):
                versions = range(1, len(entries) + 1)
                assert [(e.version, e.entry) for e in entries] == [(n, verified_entry(n)) for n in versions]
    finally:
        done.set()
        writer.join()


def test_a_commit_that_tells_nothing_of_itself_is_passed_over(table: Folder) -> None:
    append_entry(table, verified_entry(1))
    (table / "_delta_log" / f"{2:020}.json").write_bytes(b'{"txn":{"appId":"other","version":1}}\n')
    append_entry(table, verified_entry(3))
    assert [(e.version, e.entry) for e in read_log(table)] == [(1, verified_entry(1)), (3, verified_entry(3))]
    assert archive_log(table) == 4


def test_a_log_that_cannot_be_read_is_our_own_corruption_and_named(table: Folder) -> None:
    for batch in range(1, 4):
        append_entry(table, verified_entry(batch))
    log = table / "_delta_log"
    (log / f"{2:020}.json").write_bytes(b'{"commitInfo":')
    for read in (lambda: read_log(table), lambda: list(newest_first(table))):
        with pytest.raises(CorruptionError, match=r"the log of .*out cannot be read"):
            read()
    (log / f"{2:020}.json").unlink(missing_ok=True)
    with pytest.raises(CorruptionError, match=r"the log of .*out cannot be read"):
        read_log(table)


def test_a_commit_that_delta_does_not_need_any_more_and_that_cannot_be_read_is_named(table: Folder) -> None:
    for batch in range(1, 4):
        append_entry(table, verified_entry(batch))
    DeltaTable(str(table)).create_checkpoint()
    (table / "_delta_log" / f"{2:020}.json").write_bytes(b'{"commitInfo":')
    for read in (lambda: read_log(table), lambda: list(newest_first(table))):
        with pytest.raises(CorruptionError, match=f"{2:020}.json holds"):
            read()


def test_entries_that_were_kept_twice_count_once(table: Folder) -> None:
    append_entry(table, verified_entry(1))
    archive_log(table)
    folder = str(archive_folder(table))
    write_deltalake(folder, DeltaTable(folder).to_pyarrow_table(), mode="append")  # as two at once would
    assert [e.version for e in read_log(table)] == [1]


def test_the_newest_entry_of_a_stream_is_found_behind_others(table: Folder) -> None:
    for entry in (stream_entry("w", 1), stream_entry("w", 2), stream_entry("other", 3), verified_entry(4)):
        append_entry(table, entry)
    assert newest_stream_entry(table) == stream_entry("other", 3)
    assert newest_stream_entry(table, "w") == stream_entry("w", 2)
    assert newest_stream_entry(table, "nobody") is None


def test_the_generation_of_the_newest_attempt_is_found_behind_what_a_backfill_wrote(table: Folder) -> None:
    assert newest_generation(table.with_name("none")) == newest_generation(table) == 0
    append_entry(table, AttemptEntry("w", 3))
    assert newest_generation(table) == 3
    append_entry(table, replace(stream_entry(), generation=4))
    append_entry(table, verified_entry(9))
    assert newest_generation(table) == 4


def test_what_was_kept_outlives_the_log(table: Folder) -> None:
    for batch in range(4):
        append_entry(table, stream_entry(batch=batch))
    before = read_log(table)
    archive_log(table)
    append_entry(table, verified_entry(9))
    forget(table, 0, 1, 2, 3)
    assert read_log(table)[:-1] == before
    assert [e.version for e in newest_first(table)] == [5, 4, 3, 2, 1]
    assert newest_stream_entry(table, "w") == stream_entry(batch=3)


def test_keeping_twice_keeps_nothing_twice(table: Folder) -> None:
    append_entry(table, stream_entry())
    assert (archive_log(table), archive_log(table)) == (2, 0)
    assert len(read_log(archive_folder(table).with_name("out"))) == 1


def test_a_log_that_forgot_what_nobody_kept_is_corruption(table: Folder) -> None:
    archive_log(table)
    for batch in range(4):
        append_entry(table, stream_entry(batch=batch))
    forget(table, 1, 2)
    with pytest.raises(CorruptionError, match="1 to 2"):
        read_log(table)
