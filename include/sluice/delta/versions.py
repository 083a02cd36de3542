"""The versions of a settled table as another pipeline counts them: they are the offsets of its one partition."""

from __future__ import annotations

import os

from sluice.delta.reading import open_table
from sluice.errors import NotReadyError
from sluice.intervals.reach import RawPosition, Reach
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder

_NAMED = len(f"{0:020}.json")


def partition_of(name: str) -> str:
    """Return the one partition of a table by what `table_input` calls the table."""
    return f"{name}/0"


def table_position(folder: Folder, name: str) -> RawPosition:
    """Return how far a settled table goes; nowhere if it is not there yet.

    Args:
        folder: of the table.
        name: what `table_input` calls it.

    Raises:
        CorruptionError: its log cannot be read.
    """
    try:
        table = open_table(folder)
    except NotReadyError:
        return RawPosition()
    version = table.version()
    return RawPosition(version, Reach({partition_of(name): version + 1}, (str(table.metadata().id),)))


def commit_file(folder: Folder, version: int) -> Folder:
    """Return the file that makes a version of a table."""
    return folder / "_delta_log" / f"{version:020}.json"


def next_version(folder: Folder) -> int:
    """Return the number of the next version, by the names of the files in the log: 0 if there is no table.

    A watcher asks for many tables, and needs no log read for it.
    """
    log = folder / "_delta_log"
    if isinstance(log, BucketFolder):
        names = [name for name, _, _ in log.files()]
    else:
        try:
            names = os.listdir(log)  # noqa: PTH208 - cheaper than a Path for each
        except FileNotFoundError:
            return 0
    return max((int(n[:20]) + 1 for n in names if len(n) == _NAMED and n.endswith(".json")), default=0)


def version_in(reach: Reach, name: str) -> int:
    """Return the version of a table that a reach of one table ends with; -1 if it knows none."""
    return reach.offsets.get(partition_of(name), 0) - 1
