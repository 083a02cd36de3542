"""How much processor time a process and all that it started have used."""

from __future__ import annotations

from contextlib import suppress

import psutil

from sluice.clock import Clock, SystemClock

_SEARCH_SECONDS = 60.0
"""Children are looked for so often: that reads every process of the machine, and a driver's are there for its life."""


class TreeCpu:
    """Counts for one process, by default for this one."""

    def __init__(self, pid: int | None = None, clock: Clock | None = None) -> None:
        self._root = psutil.Process(pid)
        self._clock = clock or SystemClock()
        self._tree: list[psutil.Process] = []
        self._search_at = 0.0

    def seconds(self) -> float | None:
        """Return it, with that of ended processes whose parents have waited for them; None if it cannot be seen."""
        if not self._tree or self._clock.monotonic() >= self._search_at:
            self._search_at = self._clock.monotonic() + _SEARCH_SECONDS
            try:
                self._tree = [self._root, *self._root.children(recursive=True)]
            except psutil.Error:
                return None
        total = 0.0
        for process in self._tree:
            with suppress(psutil.Error):  # it has ended; its parent's count has it
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return round(total, 2)
