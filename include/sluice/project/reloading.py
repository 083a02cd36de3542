"""The project as its files are now, reloaded when one has changed: a triggerer or a server outlives many edits."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from threading import Lock

from sluice.clock import Clock, SystemClock
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.specs.reading.project_files import Files, files_below, project_folders
from sluice.streams.health.pacing import PollRate

CHECK_SECONDS = 10.0
_CHECKS = PollRate(CHECK_SECONDS, share=0.001)


class ReloadingProject:
    """Opens a project once, and again when one of its files has changed. Safe for several threads.

    A spec is sound or broken by other files as well: its transform, its sink, the schemas of its topic.
    """

    def __init__(
        self, open_: Callable[[], Project], clock: Clock | None = None, place: Callable[[], Settings] = settings
    ) -> None:
        self._open = open_
        self._settings = place
        self._clock = clock or SystemClock()
        self._project: Project | None = None
        self._place: Settings | None = None
        self._version: Files = frozenset()
        self._check_at = 0.0
        self._lock = Lock()

    def current(self) -> Project:
        """Return the project; changes are checked for every ten seconds, not for each of ten thousand units."""
        with self._lock:
            place = self._settings()
            if self._project is not None and self._place is place and self._clock.monotonic() < self._check_at:
                return self._project
            begun = time.thread_time()
            version = files_below(project_folders(place.home))
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
