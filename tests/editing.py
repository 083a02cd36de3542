"""Copies of this project, and changes in them: what is to be replaced must be there, or a test would try nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

_HOME = Path(__file__).parents[1]


def copy_project(home: Path) -> Path:
    """Copy specs, transforms and the mains of jobs, and return where to; the package is not among them."""
    shutil.copytree(_HOME / "include", home / "include", ignore=shutil.ignore_patterns("sluice", "__pycache__"))
    shutil.copytree(_HOME / "spark_jobs", home / "spark_jobs", ignore=shutil.ignore_patterns("__pycache__"))
    return home


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text wherever a file has it."""
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    file.write_text(text.replace(old, new), encoding="utf-8")
