"""The project as its specs are now, reloaded when one has changed: a triggerer or a server outlives many edits."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from sluice.clock import Clock, SystemClock
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.streams.health.pacing import PollRate

SpecVersion: TypeAlias = tuple[tuple[str, int], ...]
"""Names and change times of all spec files."""

CHECK_SECONDS = 10.0
_CHECKS = PollRate(CHECK_SECONDS, share=0.001)


class ReloadingProject:
    """Opens a project once, and again when one of its specs has changed. Safe for several threads."""

    def __init__(
        self, open_: Callable[[], Project], clock: Clock | None = None, place: Callable[[], Settings] = settings
    ) -> None:
        self._open = open_
        self._settings = place
        self._clock = clock or SystemClock()
        self._project: Project | None = None
        self._place: Settings | None = None
        self._version: SpecVersion = ()
        self._check_at = 0.0
        self._lock = Lock()

    def current(self) -> Project:
        """Return the project; changes are checked for every ten seconds, not for each of ten thousand units."""
        with self._lock:
            place = self._settings()
            if self._project is not None and self._place is place and self._clock.monotonic() < self._check_at:
                return self._project
            begun = time.thread_time()
            version = _spec_version(place.home / "include")
            self._check_at = self._clock.monotonic() + _CHECKS.period(time.thread_time() - begun)
            if self._project is None or (self._place, self._version) != (place, version):
                self._project, self._place, self._version = self._open(), place, version
                set_apart()
            return self._project


def set_apart() -> None:
    """Keep all present objects out of the garbage collector's rounds, until the next call.

    A thousand specs are half a million objects that live as long as the process. Visiting each of them takes a tenth
    of a second, at any moment, and delays the request that is served then.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _spec_version(include: Path) -> SpecVersion:
    """Return the version without a path object for each file: there may be ten thousand."""
    files: list[tuple[str, int]] = []
    for folder in sorted(path for path in include.iterdir() if path.is_dir()):
        with os.scandir(folder) as entries:
            files += [(each.path, each.stat().st_mtime_ns) for each in entries if each.name.endswith(".yaml")]
    return tuple(sorted(files))
