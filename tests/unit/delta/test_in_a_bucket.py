"""What reads, writes and looks after tables does it in a bucket, too; the log's own suites run there as well."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType

from sluice.delta.carried_log import forget_states
from sluice.delta.log import append_entry, append_to, archive_folder, archive_log, newest_first, read_log
from sluice.delta.reading import dataset_of, open_table, read_rows
from sluice.delta.size import rows_at_most
from sluice.delta.sql import query
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import UpkeepPolicy, look_after
from sluice.delta.versions import next_version, table_position
from sluice.delta.writer_log import WriterLog
from sluice.delta.written_files import (
    draft_folder,
    moved_into,
    old_drafts,
    replace_partitions,
    written_partitions,
)
from sluice.errors import NotReadyError, UnreachableError
from sluice.intervals.entries import AttemptEntry, StreamEntry, to_json
from sluice.intervals.reach import RawPosition
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import below, empty_folder, files_in, remove_folder
from tests.buckets import BucketServer
from tests.unit.delta.test_written_files import hour, hourly

WRITER = "raw_flights:id:0"
SCHEMA = Schema([Field("n", PrimitiveType("long"))]).to_json()
AT_ONCE = UpkeepPolicy(left_alone=timedelta(0), kept=timedelta(seconds=2), fewest_commits=10)


@pytest.fixture
def tables(store: BucketServer) -> BucketFolder:
    return store.new_bucket() / "of sluice" / "tables"


def opened(table: BucketFolder, writer: str = WRITER, generation: int = 1) -> WriterLog:
    log = WriterLog(table, writer, generation)
    log.open()
    return log


def append(log: WriterLog, number: int) -> None:
    entry = StreamEntry(log.writer, log.generation, "a", number, {"t/0": number}, {"t/0": number + 1})
    log.append(pa.table({"n": [number]}), entry, number + 1)


def numbers(table: BucketFolder) -> list[int]:
    return sorted(read_rows(table).column("n").to_pylist())


def test_a_table_that_is_not_there_is_no_corrupt_one(tables: BucketFolder) -> None:
    missing = tables / "none"
    assert (missing.exists(), next_version(missing), table_position(missing, "none")) == (False, 0, RawPosition())
    assert rows_at_most(missing, "at", None) == 0
    with pytest.raises(NotReadyError, match="there is no table in s3://"):
        open_table(missing)


def test_a_long_log_is_read_in_order_by_several_requests_at_once(tables: BucketFolder, store: BucketServer) -> None:
    ensure_table(tables / "t", SCHEMA)
    for version in range(1, 101):
        info = {"timestamp": version, "userMetadata": to_json(AttemptEntry("w", version))}
        commit = tables / "t" / "_delta_log" / f"{version:020}.json"
        commit.write_bytes(json.dumps({"commitInfo": info}).encode())
    assert [each.version for each in newest_first(tables / "t")] == list(range(100, 0, -1))
    assert [each.version for each in read_log(tables / "t", after=40)] == list(range(41, 101))
    store.make_faults({"kind": "slow", "method": "GET", "contains": ".json", "seconds": 0})
    assert next(newest_first(tables / "t")).version == 100
    searched = store.faults_made()["slow"]
    list(newest_first(tables / "t"))
    assert store.faults_made()["slow"] - searched == searched + 100  # a search reads no commit behind what it finds


def parquet(*numbers: int) -> bytes:
    written = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), written)
    return written.getvalue().to_pybytes()


def test_files_that_executors_wrote_are_copied_and_committed(tables: BucketFolder) -> None:
    ensure_table(tables / "t", SCHEMA)
    log = opened(tables / "t")
    with draft_folder(tables / "t") as draft:
        (draft / "_SUCCESS").write_bytes(b"")
        (draft / "part-0.parquet").write_bytes(parquet(1, 2))
        (draft / "part-1.parquet").write_bytes(parquet())
        files = moved_into(tables / "t", draft)
    assert not draft.parent.exists()
    assert [file.path for file in files] == [f"{draft.name}-part-0.parquet"]
    log.add(files, StreamEntry(WRITER, 1, "a", 1, {}, {"t/0": 1}), 1)
    assert numbers(tables / "t") == [1, 2]
    assert (tables / "t").exists()
    assert next_version(tables / "t") == DeltaTable(str(tables / "t")).version() + 1 == 3


def test_what_killed_writers_left_is_found_by_its_newest_file_and_removed(tables: BucketFolder) -> None:
    for name in (
        "_drafts/a/x/1.parquet",
        "_drafts/a/2.parquet",
        "_drafts/b/1.parquet",
        "_drafts/3.parquet",
        "4.parquet",
    ):
        (tables / "t" / name).write_bytes(b"")
    now = datetime.now(UTC)
    assert old_drafts(tables / "t", now - timedelta(hours=1)) == []
    old = old_drafts(tables / "t", now + timedelta(hours=1))
    assert sorted(map(str, old)) == [f"{tables}/t/_drafts/{name}" for name in "ab"]
    for each in old:
        remove_folder(each)
    remove_folder(tables / "never there")
    assert set((tables / "t").below()) == {"_drafts/3.parquet", "4.parquet"}
    empty_folder(tables / "t")
    assert (tables / "t").is_dir()
    assert list(files_in(tables / "t", ".parquet")) == []


def test_intervals_are_published_beside_others(tables: BucketFolder) -> None:
    table = tables / "hourly"
    schema = Schema([Field("n", PrimitiveType("long")), Field("hour", PrimitiveType("timestamp"))]).to_json()
    ensure_table(table, schema, partition_by=["hour"])
    for published in ([0, 1, 2], [1, 1]):
        files = written_partitions(table, "hour", hourly(published).to_reader())
        replaced = [hour(number) for number in set(published)]
        replace_partitions(open_table(table), "hour", replaced, files, CommitProperties(max_commit_retries=0))
    assert sorted(read_rows(table).column("n").to_pylist()) == [0, 1, 1, 2]
    late = open_table(table)
    files = written_partitions(table, "hour", hourly([2]).to_reader())
    replace_partitions(open_table(table), "hour", [hour(0)], [], CommitProperties(max_commit_retries=0))
    with pytest.raises(CommitFailedError):
        replace_partitions(late, "hour", [hour(2)], files, CommitProperties(max_commit_retries=0))
    assert sorted(read_rows(table).column("n").to_pylist()) == [1, 1, 2]


@pytest.mark.verify
def test_upkeep_joins_removes_and_cuts(tables: BucketFolder) -> None:
    table = tables / "flights_raw"
    ensure_table(table, SCHEMA, configuration=AT_ONCE.properties())
    number = cut = removed = 0
    while not (cut and removed):  # commits have to be two seconds old: pytest's own deadline ends it otherwise
        append(opened(table), number)
        number += 1
        done = look_after(table, datetime.now(UTC), policy=AT_ONCE)
        cut, removed = cut + done.cut, removed + done.removed
    assert numbers(table) == list(range(number))
    there = {name for name in table.below() if name.endswith(".parquet") and "/" not in name}
    assert set(open_table(table).file_uris()) <= {f"{table.as_uri()}/{name}" for name in there}
    entries = [each.entry for each in read_log(table) if isinstance(each.entry, StreamEntry)]
    assert [entry.end["t/0"] for entry in entries] == list(range(1, number + 1))


def test_states_that_nobody_continues_are_deleted(tables: BucketFolder) -> None:
    folder = tables.with_name("carried") / "sums"
    (folder / "balances" / "a.parquet").write_bytes(b"")
    (folder / "balances" / ".draft" / "part-0.parquet").write_bytes(b"")
    keep, now = {"balances": timedelta(days=3)}, datetime.now(UTC)
    assert forget_states(folder, [], keep, now) == 0
    assert sorted(folder.below()) == ["balances/.draft/part-0.parquet", "balances/a.parquet"]
    assert forget_states(folder, [], keep, now + timedelta(days=2)) == 1
    assert list(folder.below()) == [], "the draft of a killed driver is gone, too"


def test_duckdb_asks_tables_and_states_of_a_bucket(tables: BucketFolder) -> None:
    ensure_table(tables / "t", SCHEMA)
    append(opened(tables / "t"), 5)
    state = tables.with_name("carried") / "state.parquet"
    state.write_bytes(parquet(7))
    found = query("SELECT n FROM t UNION ALL SELECT n FROM state ORDER BY n", {"t": tables / "t", "state": state})
    assert found.column("n").to_pylist() == [5, 7]


def test_names_below_a_folder_are_found_at_any_depth(tables: BucketFolder) -> None:
    for name in ("a/b=1 2/c.parquet", "d.parquet", "a.parquet"):
        (tables / name).write_bytes(b"")
    (tables.with_name("tables2") / "d2.parquet").write_bytes(b"")
    assert set(tables.below()) == {"a/b=1 2/c.parquet", "d.parquet", "a.parquet"}
    assert below(tables, ["a/b=1 2/c.parquet", "no.parquet"]) == {"a/b=1 2/c.parquet"}
    assert below(tables, []) == set()


@pytest.mark.parametrize("kind", ["lose", "fail"])
def test_an_entry_whose_answer_was_lost_is_added_and_kept_once(
    tables: BucketFolder, store: BucketServer, kind: str
) -> None:
    table = tables / "t"
    ensure_table(table, SCHEMA)
    for number in (1, 2):  # the first copy begins the table of copies
        fault = {"kind": kind, "contains": "_delta_log", "times": 1}
        store.make_faults(fault)
        assert append_entry(table, AttemptEntry("w", number)) == number
        assert store.faults_made() == {kind: 1}
        store.make_faults(fault)
        archive_log(table)
        assert store.faults_made() == {kind: 1}
        assert [each.version for each in read_log(table)] == list(range(1, number + 1))
        copies = read_rows(archive_folder(table)).column("version").to_pylist()
        assert sorted(copies) == list(range(number + 1))
        assert open_table(archive_folder(table)).version() == number - 1


def test_entries_of_two_writers_behind_lost_answers_are_there_once_each(
    tables: BucketFolder, store: BucketServer
) -> None:
    table = tables / "t"
    ensure_table(table, SCHEMA)
    store.make_faults(*({"kind": kind, "contains": "_delta_log", "share": 0.3} for kind in ("lose", "fail")))

    def add(first: int) -> list[int]:
        return [append_entry(table, AttemptEntry("w", number)) for number in range(first, first + 8)]

    with ThreadPoolExecutor(2) as pool:
        versions = [*pool.map(add, (0, 100))]
    assert min(store.faults_made().values()) > 0
    told = dict(zip([*range(8), *range(100, 108)], [*versions[0], *versions[1]], strict=True))
    logged = {each.entry.generation: each.version for each in read_log(table) if isinstance(each.entry, AttemptEntry)}
    assert logged == told
    assert open_table(table).version() == len(told)


def test_two_that_copy_a_log_at_once_keep_each_commit_once(tables: BucketFolder) -> None:
    table = tables / "t"
    ensure_table(table, SCHEMA)
    for number in range(5):
        append_entry(table, AttemptEntry("w", number))
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(archive_log, [table] * 3))
    copies = read_rows(archive_folder(table)).column("version").to_pylist()
    assert sorted(copies) == list(range(6))


def test_a_log_that_does_not_answer_is_unknown(tables: BucketFolder, store: BucketServer) -> None:
    ensure_table(tables / "t", SCHEMA)
    refused = [{"kind": "refuse", "method": method, "contains": "_delta_log"} for method in ("PUT", "GET", "HEAD")]
    opened = DeltaTable(str(tables / "t"), storage_options={"max_retries": "0"})
    store.make_faults(*refused)
    with pytest.raises(UnreachableError, match=r"whether an entry was added to the log of s3://.* is unknown"):
        append_to(opened, tables / "t", AttemptEntry("w", 1))


def test_a_commit_asks_no_more_of_a_long_log(tables: BucketFolder, store: BucketServer) -> None:
    ensure_table(tables / "t", SCHEMA)
    log, asked = opened(tables / "t"), []
    for number in range(40):
        store.make_faults({"kind": "slow", "method": "GET", "contains": "_delta_log", "seconds": 0})
        append(log, number)
        asked.append(store.faults_made()["slow"])
    assert max(asked[-10:]) <= 2 * max(asked[:5])


def test_two_drivers_lose_and_double_nothing_behind_faults(tables: BucketFolder, store: BucketServer) -> None:
    ensure_table(tables / "t", SCHEMA)
    kinds = ("lose", "fail", "refuse")  # nine at most: a client gives up after ten in a row
    store.make_faults(*({"kind": kind, "contains": "_delta_log", "share": 0.5, "times": 3} for kind in kinds))

    def commit(first: int) -> None:
        log = opened(tables / "t", f"w{first}:id:0")
        for number in range(first, first + 7):
            append(log, number)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(commit, (0, 100)))
    made = store.faults_made()
    assert set(made) == set(kinds)
    assert sorted(dataset_of(tables / "t").to_table().column("n").to_pylist()) == [*range(7), *range(100, 107)]
