"""What a folder lists while others write and delete in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.storage.folder import files_in, untouched_since


def test_a_file_that_was_removed_since_it_was_listed_is_none(tmp_path: Path) -> None:
    there = tmp_path / "there.parquet"
    there.write_bytes(b"rows")
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nowhere")  # it is listed, and nobody finds it
    assert [(found.place, found.size) for found in files_in(tmp_path, ".parquet")] == [(there, 4)]
    assert untouched_since(tmp_path, datetime.now(UTC) + timedelta(days=1)) == [there]
