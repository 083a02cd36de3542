from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.schema import PrimitiveType

from sluice.delta import handle as module
from sluice.delta.handle import TableHandle
from sluice.delta.log import write_no_files
from sluice.delta.table import ensure_table

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
