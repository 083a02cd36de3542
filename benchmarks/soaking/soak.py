"""A stream under steady load for a long time, with kills and backfills: what it holds stays level.

A private broker, the unit's driver under its keeper, raw records that go by their age, an interval table and open
values, a watcher, and a control database. Drivers are killed and backfills run by a seeded timetable; upkeep runs each
minute as its DAGs do. Every ten seconds is sampled: live objects of the driver's heap, descriptors and threads of the
driver and of the watcher, files, rows, and how long the raw stream writes a batch.

`growth` is the worst of all: the median over the last quarter of the time ÷ that over the second. What begins again
with each driver is judged within the lives of drivers. What acts and intervals leave on record for ever is divided by
their number: `act_files`, `table_files`, `rows`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from benchmarks.raw_progress import stored
from benchmarks.soaking.acts import Backfills, SoakedDriver, Timetable
from benchmarks.soaking.levels import growth, growth_of_lives
from benchmarks.soaking.looking import commit_times, driver_levels, place_levels, raw_files
from benchmarks.soaking.pictures import write_pictures
from benchmarks.soaking.place import RAW, UNIT, Load, soak_place
from benchmarks.soaking.upkeep import look_after_all
from benchmarks.trials import TrialError
from sluice.airflow.streams.observer import ProjectObserver
from sluice.clock import SystemClock
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.settings import settings

SEED = 20_130_101
_RATE = 50
_SAMPLE_SECONDS, _UPKEEP_SECONDS = 10.0, 60.0
_READY_SECONDS, _CATCH_UP_SECONDS = 300.0, 300.0


@dataclass(frozen=True)
class SoakSize:
    """How long a soak is, how far apart kills and backfills are, and how long is kept what goes, in seconds."""

    seconds: float
    kill: float
    backfill: float
    kept: float


_SIZES = {
    "small": SoakSize(240, 80, 120, 60),
    "full": SoakSize(1200, 280, 150, 150),
    "long": SoakSize(7200, 900, 300, 600),
}
_UNITS = {
    "heap": "MB",
    "descriptors": "open",
    "threads": "threads",
    "commit": "ms",
    "files": "files",
    "raw_files": "files",
    "act_files": "files per act",
    "table_files": "files per interval",
    "rows": "rows per act and interval",
    "watcher_descriptors": "open",
    "watcher_threads": "threads",
    "watcher_memory": "MB",
}
_ARROW_THREADS = 2
"""Arrow starts its eight one by one, over many minutes, and ends none: with few, all are there at the beginning."""
_OF_LIVES = ("heap", "descriptors", "threads")


@dataclass
class Taken:
    """All samples so far: seconds since the beginning and values, by what is measured; of drivers by generation too."""

    begun: float
    measured: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    lives: dict[str, dict[int, list[tuple[float, float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.time() - self.begun

    def add(self, name: str, value: float, generation: int | None = None) -> None:
        """Add a sample of now."""
        self.measured[name].append((self.now, value))
        if generation is not None:
            self.lives[name][generation].append((self.now, value))

    def grown(self) -> dict[str, float | None]:
        """Return the growth of all that is measured."""
        names = [name for name in _UNITS if name in self.measured]
        found = {
            name: growth_of_lives(self.lives[name]) if name in _OF_LIVES else growth(self.measured[name])
            for name in names
        }
        return {name: None if value is None else round(value, 3) for name, value in found.items()}


def run(size: str = "full", seed: str = str(SEED)) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the growth of each measure, and what happened.

    Args:
        size: `small` (4 minutes, to try the machinery), `full` (20 minutes) or `long` (2 hours).
        seed: of the timetable of kills and backfills.

    Raises:
        TrialError: the driver did not start, or did not read everything in the end.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-soak-") as root, soak_place(Path(root)) as (project, bootstrap):
        load = Load(bootstrap, _RATE)
        soak = Soak(project, load, Path(root) / "backfill.log")
        with soak.started(), load.flowing():
            soak.run(_SIZES[size], int(seed))
        soak.finish()
    grown = soak.taken.grown()
    judged = [value for value in grown.values() if value is not None]
    figures = {
        "growth": max(judged, default=None),
        **{f"{name}_growth": value for name, value in grown.items()},
        "kills": soak.driver.kills,
        "backfills": soak.backfills.done,
        "unplanned_ends": soak.driver.unplanned,
        "unread": soak.unread,
        "records": load.sent,
    }
    folder = settings().state / "soak" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    pictures = write_pictures(
        folder, {name: (_UNITS[name], soak.taken.measured[name]) for name in grown}, soak.taken.begun
    )
    notes = {"size": size, "seed": int(seed), "failed_backfills": soak.backfills.failed, "pictures": str(folder)}
    return figures, {**notes, "drawn": len(pictures), "levels": _levels(soak.taken)}


class Soak:
    """One soak.

    Args:
        project: in which it happens.
        load: what is sent.
        log: a file for the words of backfills.
    """

    def __init__(self, project: Project, load: Load, log: Path) -> None:
        self._project = project
        self._load = load
        self._observer = ProjectObserver(lambda: project)
        self._committed = time.time()
        self.driver = SoakedDriver(project)
        self.backfills = Backfills(project, log)
        self.taken = Taken(time.time())
        self.unread = 0

    @contextmanager
    def started(self) -> Iterator[None]:
        """Run the driver while the block runs, and leave nothing running if it fails."""
        try:
            self.driver.start()
            yield
        except BaseException:
            self._leave()
            raise

    def run(self, size: SoakSize, seed: int) -> None:
        """Let it happen, once the driver has read something."""
        self._wait(lambda: self._stored() > 0, _READY_SECONDS, "nothing was read")
        pa.set_io_thread_count(_ARROW_THREADS)
        self.taken = Taken(time.time())
        kills, backfills = Timetable(size.kill, seed), Timetable(size.backfill, seed + 1)
        upkeep, last_kill = Timetable(_UPKEEP_SECONDS, seed + 2), size.seconds - size.kill / 2
        clock = SystemClock()
        while self.taken.now < size.seconds:
            next_at = time.monotonic() + _SAMPLE_SECONDS
            self._sample()
            if kills.due(self.taken.now) and self.taken.now < last_kill:
                self.driver.kill()
            if not self.backfills.at_work:
                if upkeep.due(self.taken.now):
                    look_after_all(self._project, clock.now(), timedelta(seconds=size.kept))
                if backfills.due(self.taken.now):
                    self.backfills.begin(self._load)
            clock.sleep(max(0.0, next_at - time.monotonic()))

    def finish(self) -> None:
        """Wait until everything is read, and stop."""
        try:
            self.backfills.end(_CATCH_UP_SECONDS)
            wait_until(lambda: self._stored() >= self._load.sent, SystemClock(), deadline_seconds=_CATCH_UP_SECONDS)
            self.unread = self._load.sent - self._stored()
        finally:
            self._leave()

    def _leave(self) -> None:
        self.backfills.end(0)
        self.driver.stop()

    def _sample(self) -> None:
        self._observer.record_verdicts(self._observer.observe([UNIT]))
        if (living := self.driver.living()) is not None and (held := driver_levels(*living)) is not None:
            self.taken.add("heap", held.heap_mb, held.generation)
            self.taken.add("descriptors", held.descriptors, held.generation)
            self.taken.add("threads", held.threads, held.generation)
        for at, milliseconds in commit_times(self._project, self._committed):
            self.taken.measured["commit"].append((at - self.taken.begun, milliseconds))
            self._committed = at
        place, watcher = place_levels(self._project), psutil.Process(os.getpid())
        raw = raw_files(self._project)
        self.taken.add("files", place.files - raw)
        self.taken.add("raw_files", raw)
        if place.acts:
            self.taken.add("act_files", place.act_files / place.acts)
        self.taken.add("table_files", place.table_files / max(place.intervals, 1))
        self.taken.add("rows", place.rows / max(place.acts + place.intervals, 1))
        self.taken.add("watcher_descriptors", watcher.num_fds())
        self.taken.add("watcher_threads", watcher.num_threads())
        self.taken.add("watcher_memory", watcher.memory_info().rss / 2**20)
        newest = {name: round(samples[-1][1], 1) for name, samples in self.taken.measured.items() if samples}
        print(f"{self.taken.now:6.0f} s {place} {newest}", file=sys.stderr, flush=True)

    def _stored(self) -> int:
        raw = self._project.folder.table(RAW)
        return stored(Path(str(raw))) if (raw / "_delta_log").exists() else 0

    def _wait(self, condition: Any, seconds: float, what: str) -> None:  # noqa: ANN401 - a condition
        if not wait_until(condition, SystemClock(), deadline_seconds=seconds):
            raise TrialError(f"After {seconds:.0f} s {what}.")


def _levels(taken: Taken) -> Mapping[str, tuple[float, float]]:
    """Return the first and the last value of each measure."""
    return {name: (round(row[0][1], 2), round(row[-1][1], 2)) for name, row in taken.measured.items() if row}
