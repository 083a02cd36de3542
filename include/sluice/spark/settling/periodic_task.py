"""Work that is done again and again in a thread of its own, so that its driver watches all streams meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from sluice.clock import Clock


class PeriodicTask:
    """Does some work periodically, never twice at once.

    Args:
        work: what to do.
        every: returns after how many seconds it is done again; None: not now.
        clock: gives the time.
    """

    def __init__(self, work: Callable[[], None], every: Callable[[], float | None], clock: Clock) -> None:
        self._work = work
        self._every = every
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="periodic")
        self._running: Future[None] | None = None
        self._ended_at = clock.monotonic()

    def __call__(self) -> None:
        """Begin it if it is time, and return at once.

        Raises:
            Exception: what it has raised since the last call.
        """
        if self._running is not None:
            if not self._running.done():
                return
            ended, self._running, self._ended_at = self._running, None, self._clock.monotonic()
            ended.result()
        seconds = self._every()
        if seconds is not None and self._clock.monotonic() >= self._ended_at + seconds:
            self._running = self._thread.submit(self._work)
