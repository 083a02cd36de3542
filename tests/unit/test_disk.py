"""A file is replaced whole or not at all, and what was only begun does not stay."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sluice.disk import replacing


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_text("old")
    with replacing(file) as draft:
        draft.write_text("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_draft_that_a_full_disk_cut_short_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_text("old")

    def cut_short() -> None:
        with replacing(file) as draft:
            draft.write_text("ne")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        cut_short()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
