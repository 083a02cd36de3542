"""What a project is read from is seen to change, and only that."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.specs.reading.project_files import files_below


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x", encoding="utf-8")


@pytest.mark.parametrize(
    ("act", "seen"),
    [
        (lambda folder: write(folder / "pipelines" / "new.yaml"), True),
        (lambda folder: (folder / "pipelines" / "old.yaml").unlink(), True),
        (lambda folder: (folder / "pipelines" / "old.yaml").write_text("xy", encoding="utf-8"), True),
        (lambda folder: os.utime(folder / "pipelines" / "old.yaml", ns=(1, 1)), True),
        (lambda folder: write(folder / "pipelines" / "__pycache__" / "old.pyc"), False),
        (lambda folder: write(folder / "pipelines" / ".new.yaml.swp"), False),
        (lambda folder: (folder / "pipelines" / "old.yaml").read_text(encoding="utf-8"), False),
    ],
)
def test_what_parsing_may_read_is_checked_and_nothing_else(
    tmp_path: Path, act: Callable[[Path], object], seen: bool
) -> None:
    write(tmp_path / "pipelines" / "old.yaml")
    folders = (tmp_path, tmp_path / "not-there")
    before = files_below(folders)
    act(tmp_path)
    assert (files_below(folders) != before) is seen


def test_a_link_that_leads_nowhere_hides_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    write(tmp_path / "b.yaml")
    assert any(path.endswith("b.yaml") for path, *_ in files_below([tmp_path]))
