from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pytest
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.schema import PrimitiveType

from sluice.delta import handle as module
from sluice.delta.handle import TableHandle
from sluice.delta.log import write_no_files
from sluice.delta.table import ensure_table
from sluice.storage.folder import Folder

SCHEMA = Schema([Field("n", PrimitiveType("long"))]).to_json()


class Opened(DeltaTable):
    """Counts how often a table is opened."""

    times = 0

    def __init__(self, uri: str) -> None:
        type(self).times += 1
        super().__init__(uri)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ensure_table(tmp_path / "out", SCHEMA)
    return tmp_path / "out"


def test_every_commit_is_seen_at_once_and_the_table_is_opened_again_now_and_then(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Opened, "times", 0)
    monkeypatch.setattr(module, "DeltaTable", Opened)
    handle, other = TableHandle(table), DeltaTable(str(table))
    for number in range(1, 251):
        write_no_files(other, CommitProperties(app_transactions=[Transaction("other", number)]))
        other.update_incremental()
        handle.update()
        assert (handle.table.version(), handle.table.transaction_version("other")) == (number, number)
    assert Opened.times == 3


def test_what_is_written_through_it_counts_too(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Opened, "times", 0)
    monkeypatch.setattr(module, "DeltaTable", Opened)
    handle = TableHandle(table)
    for number in range(1, 151):
        write_no_files(handle.table, CommitProperties(app_transactions=[Transaction("own", number)]))
        handle.update()
    assert (handle.table.version(), Opened.times) == (150, 2)


class Asked(DeltaTable):
    """Counts how often delta-rs is asked for a transaction."""

    times = 0

    def transaction_version(self, app_id: str) -> int | None:
        type(self).times += 1
        return super().transaction_version(app_id)


def test_transactions_are_asked_for_once_and_read_from_later_commits(
    place: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_table(place / "out", SCHEMA)
    monkeypatch.setattr(Asked, "times", 0)
    monkeypatch.setattr(module, "DeltaTable", Asked)
    handle, other = TableHandle(place / "out"), DeltaTable(str(place / "out"))
    for number in range(1, 31):
        marks = [Transaction(name, number) for name, each in (("a", 2), ("b", 3), ("c", 5)) if number % each == 0]
        writer = other if number % 7 else handle.table
        write_no_files(writer, CommitProperties(app_transactions=marks or None))
        other.update_incremental()
        if number % 4:  # several commits at once now and then
            handle.update()
            found = {name: handle.transaction(name) for name in "abcd"}
            assert found == {name: other.transaction_version(name) for name in "abcd"}
    assert Asked.times == 4


@pytest.mark.parametrize("cut", [True, False])
def test_transactions_of_a_log_that_was_cut_or_begun_again_are_asked_for_again(table: Path, *, cut: bool) -> None:
    handle, other = TableHandle(table), DeltaTable(str(table))
    write_no_files(other, CommitProperties(app_transactions=[Transaction("a", 7)]))
    handle.update()
    assert handle.transaction("a") == 7
    if cut:
        for marks in ([Transaction("a", 8)], None):
            other.update_incremental()
            write_no_files(other, CommitProperties(app_transactions=marks))
        other.update_incremental()
        other.create_checkpoint()
        (table / "_delta_log" / f"{2:020}.json").unlink()
    else:
        rmtree(table)
        ensure_table(table, SCHEMA)
    handle.table = DeltaTable(str(table))
    assert handle.transaction("a") == (8 if cut else None)
