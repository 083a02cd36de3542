from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType

from sluice.delta.log import archive_log, read_log
from sluice.delta.reading import read_rows
from sluice.delta.table import ensure_table
from sluice.delta.writer_log import FencedError, WriterLog
from sluice.errors import CorruptionError, NotReadyError
from sluice.intervals.entries import AttemptEntry, StreamEntry, to_json
from sluice.storage.folder import Folder

SCHEMA = Schema([Field("n", PrimitiveType("long"))]).to_json()
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
WRITER = "departures:id:0"


@pytest.fixture
def table(place: Folder) -> Folder:
    ensure_table(place / "out", SCHEMA)
    return place / "out"


def opened(table: Folder, generation: int, *, code: str = "", writer: str = WRITER, direct: bool = False) -> WriterLog:
    log = WriterLog(table, writer, generation)
    log.open(code=code, direct=direct)
    return log


def write(table: Folder, entry: StreamEntry, version: int) -> None:
    """Commit as a batch does."""
    delta = DeltaTable(str(table))
    properties = CommitProperties(
        custom_metadata={"userMetadata": to_json(entry)}, app_transactions=[Transaction(entry.writer, version)]
    )
    delta.create_write_transaction([], "append", delta.schema(), commit_properties=properties)


def stream_entry(end: int, writer: str = WRITER) -> StreamEntry:
    return StreamEntry(writer, 1, "a", end, {}, {"t/0": end}, watermark=NOON)


def attempts(table: Folder) -> list[AttemptEntry]:
    return [logged.entry for logged in read_log(table) if isinstance(logged.entry, AttemptEntry)]


def test_an_attempt_marks_the_table_with_its_generation_and_code(table: Folder) -> None:
    opened(table, 3, code="a")
    assert attempts(table) == [AttemptEntry(WRITER, 3, "a")]
    with pytest.raises(FencedError, match="generation 3"):
        opened(table, 2, code="a")


def test_an_attempt_is_marked_once_however_often_its_driver_starts(table: Folder) -> None:
    for _ in range(2):
        opened(table, 1, code="a")
    assert len(attempts(table)) == 1


def test_the_position_is_that_of_the_writers_newest_entry(table: Folder) -> None:
    assert opened(table, 1).position.offsets == {}
    write(table, stream_entry(10), 20)
    write(table, stream_entry(30), 60)
    write(table, stream_entry(99, "other"), 198)
    log = opened(table, 2)
    assert log.latest == stream_entry(30)
    assert (log.position.offsets, log.position.watermark) == ({"t/0": 30}, NOON)


def test_an_entry_from_before_an_attempt_that_records_no_batch_is_no_position(table: Folder) -> None:
    opened(table, 1)
    write(table, stream_entry(30), 60)
    assert opened(table, 2, direct=True).latest == stream_entry(30)
    assert opened(table, 3, direct=True).latest == stream_entry(30)
    again = opened(table, 4)
    assert (again.latest, again.position.offsets) == (None, {})
    again.record(stream_entry(90), 180)
    assert opened(table, 5).latest == opened(table, 6, direct=True).latest == stream_entry(90)


def test_another_writer_that_records_no_batch_says_nothing_of_this_one(table: Folder) -> None:
    opened(table, 1)
    write(table, stream_entry(30), 60)
    opened(table, 2, writer="other:id:0", direct=True)
    assert opened(table, 3).latest == stream_entry(30)


def test_a_new_epoch_has_no_position_but_knows_what_the_one_before_closed(table: Folder) -> None:
    opened(table, 1)
    write(table, stream_entry(30), 60)
    log = opened(table, 2, writer="departures:id:1")
    assert (log.latest, log.position.offsets) == (None, {})
    assert log.newest == log.inherited == stream_entry(30)
    write(table, stream_entry(10, "departures:id:1"), 20)
    assert opened(table, 3, writer="departures:id:1").newest == stream_entry(10, "departures:id:1")


def test_offsets_of_a_topic_that_was_created_again_are_not_inherited(table: Folder) -> None:
    opened(table, 1)
    write(table, stream_entry(30), 60)
    log = opened(table, 2, writer="departures:another:1")
    assert (log.newest, log.inherited) == (stream_entry(30), None)


def test_generations_are_fenced_across_epochs(table: Folder) -> None:
    before = opened(table, 1)
    opened(table, 2, writer="departures:id:1")
    with pytest.raises(FencedError, match="generation 2"):
        before.check_fence()
    with pytest.raises(FencedError, match="generation 2"):
        opened(table, 1)


def test_who_writes_under_an_older_epoch_past_the_fence_conflicts(table: Folder) -> None:
    before = opened(table, 1)
    before.record(stream_entry(30), 60)
    zombie = DeltaTable(str(table))
    opened(table, 2, writer="departures:id:1")
    properties = CommitProperties(
        custom_metadata={"userMetadata": to_json(stream_entry(40))}, app_transactions=[Transaction(WRITER, 80)]
    )
    with pytest.raises(CommitFailedError):
        zombie.create_write_transaction([], "append", zombie.schema(), commit_properties=properties)


def test_the_position_is_found_when_the_log_has_forgotten_it(table: Folder) -> None:
    opened(table, 1, code="a")
    write(table, stream_entry(10), 20)
    archive_log(table)
    DeltaTable(str(table)).create_checkpoint()
    for version in (0, 1):
        (table / "_delta_log" / f"{version:020}.json").unlink(missing_ok=True)
    assert opened(table, 2, code="b").position.offsets == {"t/0": 10}


def test_a_position_that_is_nowhere_any_more_is_corruption(table: Folder) -> None:
    opened(table, 1)
    write(table, stream_entry(10), 20)
    opened(table, 2)
    DeltaTable(str(table)).create_checkpoint()
    for version in (0, 1, 2):
        (table / "_delta_log" / f"{version:020}.json").unlink(missing_ok=True)
    with pytest.raises(CorruptionError, match="what it covers is unknown"):
        opened(table, 2)


def test_a_write_that_is_not_in_the_log_is_corruption(table: Folder) -> None:
    log = opened(table, 1)
    write(table, stream_entry(10), 20)
    log.confirm(stream_entry(10), 20)
    assert log.latest == stream_entry(10)
    with pytest.raises(CorruptionError, match="just wrote 60"):
        log.confirm(stream_entry(30), 60)


ROWS = pa.table({"n": [1, 2, 3]})


def test_rows_are_appended_in_one_commit_that_names_its_input(table: Folder) -> None:
    log = opened(table, 1)
    log.append(ROWS, stream_entry(10), 20)
    assert read_rows(table).column("n").to_pylist() == [1, 2, 3]
    assert log.position.offsets == {"t/0": 10}
    assert opened(table, 2).latest == stream_entry(10)


def test_a_commit_of_somebody_else_in_between_is_no_reason_to_give_up(table: Folder) -> None:
    log = opened(table, 1)
    write(table, stream_entry(5, writer="another:id:0"), 10)
    log.append(ROWS, stream_entry(10), 20)
    assert read_rows(table).num_rows == 3


def test_a_commit_without_an_answer_that_was_made_is_not_made_again(table: Folder) -> None:
    log, calls = opened(table, 1), []

    def without_answer(delta: DeltaTable, properties: CommitProperties) -> None:
        calls.append(delta.version())
        write_deltalake(delta, pa.table({"n": [5]}), mode="append", commit_properties=properties)
        raise CommitFailedError("version 2 exists")

    log.commit(stream_entry(1), 2, without_answer)
    assert len(calls) == 1
    assert (read_rows(table)["n"].to_pylist(), log.latest) == ([5], stream_entry(1))
    log.append(pa.table({"n": [6]}), stream_entry(2), 4)
    assert sorted(read_rows(table)["n"].to_pylist()) == [5, 6]


def test_a_commit_of_another_batch_under_the_same_name_is_not_taken_for_ones_own(table: Folder) -> None:
    log = opened(table, 1)

    def forestalled(delta: DeltaTable, properties: CommitProperties) -> None:
        write(table, replace(stream_entry(1), lineage="b"), 2)
        write_deltalake(delta, pa.table({"n": [5]}), mode="append", commit_properties=properties)

    with pytest.raises(CorruptionError, match="Nothing was written"):
        log.commit(stream_entry(1), 2, forestalled)
    assert read_rows(table).num_rows == 0


def test_a_newer_generation_that_marks_the_table_during_the_write_keeps_the_older_from_it(table: Folder) -> None:
    class Slow(WriterLog):
        """Falls asleep between its check of the mark and its write."""

        def _check_alone(self) -> None:
            super()._check_alone()
            opened(table, 2)

    log = Slow(table, WRITER, 1)
    log.open()
    with pytest.raises(FencedError, match="generation 2"):
        log.append(ROWS, stream_entry(10), 20)
    assert read_rows(table).num_rows == 0


def test_another_thread_of_the_driver_does_not_hide_a_new_mark_from_the_write(table: Folder) -> None:
    class Slow(WriterLog):
        """Falls asleep between its check of the mark and its write; another thread looks meanwhile."""

        def _check_alone(self) -> None:
            super()._check_alone()
            opened(table, 2)
            other = Thread(target=self._marked, daemon=True)
            other.start()
            other.join(0.5)  # it waits for this one, if it must

    log = Slow(table, WRITER, 1)
    log.open()
    with pytest.raises(FencedError, match="generation 2"):
        log.append(ROWS, stream_entry(10), 20)
    assert read_rows(table).num_rows == 0


def test_nothing_is_written_beside_somebody_who_writes_under_the_same_name(table: Folder) -> None:
    log = opened(table, 1)
    write(table, stream_entry(5), 10)
    with pytest.raises(CorruptionError, match="has transaction 10"):
        log.append(ROWS, stream_entry(10), 20)
    assert read_rows(table).num_rows == 0


def test_a_driver_of_older_code_goes_on_when_a_backfill_has_added_a_column(table: Folder) -> None:
    log = opened(table, 1)
    log.append(pa.table({"n": [1]}), stream_entry(1), 1)
    more = Schema([Field("n", PrimitiveType("long")), Field("price", PrimitiveType("double"))]).to_json()
    ensure_table(table, more)
    log.append(pa.table({"n": [2]}), stream_entry(2), 2)
    found = DeltaTable(table).to_pyarrow_table().sort_by("n").to_pylist()
    assert found == [{"n": 1, "price": None}, {"n": 2, "price": None}]


def test_a_rewrite_keeps_the_position_and_says_what_is_otherwise(table: Folder) -> None:
    log = opened(table, 1)
    log.append(pa.table({"n": [1, 2]}), stream_entry(10), 20)
    again = replace(stream_entry(10), times="n")
    log.rewrite(again, log.version, overwritten([3, 4]))
    assert sorted(read_rows(table).column("n").to_pylist()) == [3, 4]
    assert log.latest == again
    log.append(pa.table({"n": [5]}), stream_entry(30), 60)
    later = opened(table, 2)
    assert later.latest == stream_entry(30)
    assert sorted(read_rows(table).column("n").to_pylist()) == [3, 4, 5]


def test_a_rewrite_of_another_version_than_the_newest_changes_nothing(table: Folder) -> None:
    log = opened(table, 1)
    log.append(pa.table({"n": [1]}), stream_entry(10), 20)
    read = log.version
    write(table, stream_entry(30), 60)
    with pytest.raises(NotReadyError, match="was changed while"):
        log.rewrite(stream_entry(10), read, overwritten([2]))
    assert read_rows(table).column("n").to_pylist() == [1]
    opened(table, 2)
    with pytest.raises(FencedError):
        log.rewrite(stream_entry(10), log.version, overwritten([2]))
    assert read_rows(table).column("n").to_pylist() == [1]


def overwritten(numbers: list[int]) -> Callable[[DeltaTable, CommitProperties], None]:
    rows = pa.table({"n": numbers})
    return lambda delta, properties: write_deltalake(delta, rows, mode="overwrite", commit_properties=properties)
