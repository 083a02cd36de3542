"""What is looked at every ten seconds: the driver's processes, the state folder, the control database."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.soaking.place import RAW, TABLE, UNIT
from sluice.delta.log import archive_folder
from sluice.launch.processes import descendants
from sluice.project.project import Project
from sluice.streams.health.batch_log import batches

_TOTAL = re.compile(r"^Total\s+\d+\s+(\d+)", re.MULTILINE)
_JCMD_SECONDS = 60


@dataclass(frozen=True)
class DriverLevels:
    """What a living driver holds, of all its processes.

    Attributes:
        generation: its attempt.
        heap_mb: live objects of its JVM, right after a full collection.
        descriptors: open files and sockets.
        threads: of all processes.
    """

    generation: int
    heap_mb: float
    descriptors: int
    threads: int


@dataclass(frozen=True)
class PlaceLevels:
    """What is on the disk and on record.

    Attributes:
        files: of the state folder, but for what is counted by acts or by intervals.
        act_files: logs and reports of attempts and backfills that have ended.
        table_files: of the interval table.
        rows: of the control database.
        acts: attempts and backfills on record that have ended.
        intervals: on record.
    """

    files: int
    act_files: int
    table_files: int
    rows: int
    acts: int
    intervals: int


def driver_levels(generation: int, pid: int) -> DriverLevels | None:
    """Return what a driver holds; None: it ended meanwhile, or its JVM does not answer yet."""
    try:
        processes = [psutil.Process(each) for each in (pid, *descendants(pid))]
        java = next(process.pid for process in processes if process.name() == "java")
        heap = live_mb(java)
        counts = [(process.num_fds(), process.num_threads()) for process in processes if process.is_running()]
    except (psutil.Error, StopIteration):
        return None
    if heap is None:
        return None
    return DriverLevels(generation, heap, sum(fds for fds, _ in counts), sum(threads for _, threads in counts))


def live_mb(java: int) -> float | None:
    """Return the megabytes of live objects of a JVM: counting them is a full collection."""
    try:
        told = subprocess.run(
            ["jcmd", str(java), "GC.class_histogram"], capture_output=True, text=True, timeout=_JCMD_SECONDS, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    found = _TOTAL.search(told.stdout)
    return None if found is None else int(found.group(1)) / 2**20


def place_levels(project: Project) -> PlaceLevels:
    """Return what a project has on its disk and on record."""
    folder = project.folder
    acts = (folder.drivers, folder.backfills, folder.staging)
    tables = (folder.table(TABLE), archive_folder(folder.table(TABLE)))
    rows = _rows(folder.control)
    apart = [Path(str(each)) for each in (*acts, *tables)]
    at_work = sorted(folder.drivers.glob(f"*.{UNIT}.g*"), key=lambda each: int(each.name.rpartition(".g")[2]))[-1:]
    return PlaceLevels(
        files=_files(folder.root, apart),
        act_files=sum(_files(Path(str(each)), at_work) for each in acts),
        table_files=sum(_files(Path(str(each))) for each in tables),
        rows=sum(rows.values()),
        acts=rows["attempt"] - len(at_work) + rows["backfill"],
        intervals=rows["interval"],
    )


def raw_files(project: Project) -> int:
    """Return how many files the raw table and its copied entries have."""
    return _files(Path(str(project.folder.table(RAW)))) + _files(Path(str(archive_folder(project.folder.table(RAW)))))


def commit_times(project: Project, since: float) -> list[tuple[float, float]]:
    """Return the batches of the raw stream that wrote something, after a moment: when, and how long they wrote (ms)."""
    stream = next(name for name in project.catalog.unit(UNIT).streams if name.startswith("raw_"))
    found = batches(project.folder.batch_log(stream))
    return [
        (each.at.timestamp(), each.phases["addBatch"])
        for each in found
        if each.rows and "addBatch" in each.phases and each.at.timestamp() > since
    ]


def _files(root: Path, apart: Iterable[Path] = ()) -> int:
    """Return the files below a folder, but for those of some folders in it. What goes meanwhile may count or not."""
    left_out, count = {str(path) for path in apart}, 0
    for parent, folders, names in os.walk(root):
        folders[:] = [name for name in folders if str(Path(parent) / name) not in left_out]
        count += len(names)
    return count


def _rows(database: Path) -> dict[str, int]:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30) as connection:
        names: Sequence[tuple[str]] = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        counts = {}
        for (name,) in names:
            with suppress(sqlite3.OperationalError):
                (counts[name],) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608  its own names
    connection.close()
    return counts
