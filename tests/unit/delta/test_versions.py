"""The versions of a settled table as offsets."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

from deltalake import DeltaTable

from sluice.delta.table import ensure_table
from sluice.delta.versions import next_version, partition_of, table_position, version_in
from sluice.intervals.reach import RawPosition, Reach

NAME = "table:hours"
SCHEMA = '{"type": "struct", "fields": [{"name": "at", "type": "timestamp", "nullable": true, "metadata": {}}]}'


def test_a_table_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert next_version(tmp_path / "hours") == 0
    assert table_position(tmp_path / "hours", NAME) == RawPosition()


def test_the_next_version_is_an_offset_and_the_id_tells_tables_apart(tmp_path: Path) -> None:
    folder = tmp_path / "hours"
    ensure_table(folder, SCHEMA)
    (folder / "_delta_log" / "00000000000000000009.checkpoint.parquet").touch()
    first = table_position(folder, NAME)
    assert (first.version, next_version(folder)) == (DeltaTable(str(folder)).version(), first.version + 1)
    assert first.reach.offsets == {partition_of(NAME): first.version + 1}
    assert version_in(first.reach, NAME) == first.version
    assert version_in(Reach({}), NAME) == -1
    rmtree(folder)
    ensure_table(folder, SCHEMA)
    assert not table_position(folder, NAME).reach.covers(first.reach)
