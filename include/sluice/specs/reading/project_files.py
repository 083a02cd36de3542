"""The files that a project is made of, as they are now: long-lived processes ask whether one has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

Files: TypeAlias = frozenset[tuple[str, int, int]]
"""Path, change time (ns) and size (bytes) of each file."""

_SKIPPED = ("__pycache__",)


def project_folders(home: Path) -> tuple[Path, ...]:
    """Return where the specs are, and the transforms, sinks and schemas that decide whether they are sound."""
    return home / "include", home / "spark_jobs"


def files_below(folders: Iterable[Path]) -> Files:
    """Return all files below some folders, but for hidden ones and bytecode. A missing folder has none."""
    return frozenset(file for folder in folders for file in _files(str(folder)))


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with suppress(OSError), os.scandir(folder) as entries:  # what is missing, or is removed just now, has no files
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            with suppress(OSError):
                if entry.is_dir():
                    yield from _files(entry.path)
                else:
                    status = entry.stat()
                    yield entry.path, status.st_mtime_ns, status.st_size
