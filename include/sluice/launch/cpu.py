"""How much processor time, and memory, a process and all that it started have."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

from sluice.clock import SystemClock

_SEARCH_SECONDS = 60.0
"""Children are looked for so often: that reads every process of the machine, and a driver's are there for its life."""


class TreeCpu:
    """Counts for one process, by default for this one."""

    def __init__(self, pid: int | None = None) -> None:
        self._root = psutil.Process(pid)
        self._clock = SystemClock()
        self._tree: list[psutil.Process] = []
        self._search_at = 0.0
        self._memory: float | None = None
        self._weigh_at = 0.0

    @classmethod
    def of_living(cls, pid: int) -> TreeCpu | None:
        """Return the counter of a process; None if it is gone."""
        try:
            return cls(pid)
        except psutil.Error:
            return None

    @property
    def alone(self) -> bool:
        """Whether the process had started nothing that lives when its children were last looked for."""
        return self._tree[1:] == []

    def age(self) -> float:
        """Return how many seconds ago the process began."""
        return max(time.time() - self._root.create_time(), 0.0)

    def niceness(self) -> int:
        """Return how far the process gives way, 0 to 19; 0 if it is gone."""
        try:
            return max(int(self._root.nice() or 0), 0)
        except psutil.Error:
            return 0

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

    def memory_bytes(self) -> float | None:
        """Return their memory (PSS: what they share counts once), at most a minute old; None if it cannot be seen."""
        if self._clock.monotonic() >= self._weigh_at:
            self._weigh_at = self._clock.monotonic() + _SEARCH_SECONDS
            self.seconds()  # looks for children
            self._memory = sum(filter(None, map(_pss, self._tree))) or None
        return self._memory


def _pss(process: psutil.Process) -> float | None:
    try:
        return float(process.memory_full_info().pss)
    except (psutil.Error, AttributeError):  # it has ended, is another user's, or the system does not count it
        return None
