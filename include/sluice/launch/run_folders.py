"""The folders of drivers and batches that have ended: their logs and reports, which are kept for a while."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sluice.launch.launcher import folder_lock

KEPT = 20
"""The newest folders of each unit or pipeline stay, however old they are."""


def unit_of(name: str) -> str:
    """Return whose attempt a folder of drivers is: `local.flights.g3` is `local.flights`'s."""
    return name.rpartition(".g")[0]


def pipeline_of(name: str) -> str:
    """Return whose batch a folder of backfills is: `departures-20130101T000000-1a2b` is `departures`'s."""
    return name.rsplit("-", 2)[0]


def remove_ended(folder: Path, before: datetime, owner_of: Callable[[str], str]) -> list[str]:
    """Remove the folders in which nothing has changed since a time, and return their names.

    The newest of each owner stay, and those whose process lives, which holds the folder's lock.

    Args:
        folder: of all of them.
        before: the time (UTC).
        owner_of: gives whose a folder is, by its name.
    """
    by_owner: dict[str, list[tuple[float, Path]]] = defaultdict(list)
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_dir() and not each.is_symlink():
            by_owner[owner_of(each.name)].append((_changed(each), each))
    old = (
        path
        for folders in by_owner.values()
        for changed, path in sorted(folders, reverse=True)[KEPT:]
        if datetime.fromtimestamp(changed, UTC) < before
    )
    return sorted(path.name for path in old if _removed(path))


def remove_old_files(folder: Path, before: datetime) -> int:
    """Remove the files below a folder that did not change since a time (UTC), and folders that hold nothing then.

    Returns:
        How many files were removed.
    """
    removed = 0
    found = [(Path(parent), names) for parent, _, names in os.walk(folder, topdown=False)]
    # Before anything is removed: that changes the folder around it.
    old = [parent for parent, _ in found if parent != folder and _is_old(parent, before)]
    for path in (parent / name for parent, names in found for name in names):
        if not path.is_symlink() and _is_old(path, before):
            path.unlink(missing_ok=True)
            removed += 1
    for parent in old:
        _remove_if_empty(parent)
    return removed


def _is_old(path: Path, before: datetime) -> bool:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC) < before
    except FileNotFoundError:  # whose it was has removed it meanwhile
        return False


def _changed(folder: Path) -> float:
    """Return when anything in a folder was written last (seconds since 1970)."""
    return max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))


def _removed(folder: Path) -> bool:
    with folder_lock(folder, fcntl.LOCK_EX) as lock:  # a living process holds it
        if lock is not None:
            shutil.rmtree(folder)
    return lock is not None


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # it is not, or another process was quicker
        return
