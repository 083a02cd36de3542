"""Values that take longer to load than a page may wait: one thread loads them, and pages show their age."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Generic, TypeVar

from sluice.clock import Clock

Found = TypeVar("Found")

PATIENCE_SECONDS = 0.1
"""So long a page waits for the first value."""


@dataclass(frozen=True)
class CachedValue(Generic[Found]):
    """The newest value.

    Attributes:
        value: the value; None before the first success.
        at: when it was loaded (UTC).
        error: why the last load failed; empty if it did not.
        refreshing: whether a load is under way.
    """

    value: Found | None
    at: datetime | None
    error: str
    refreshing: bool


class BackgroundCache(Generic[Found]):
    """Loads a value again when a page asks and the newest one is old. Safe for several threads.

    Args:
        load: loads the value; what it raises is kept as `error`.
        clock: gives the time.
        every: it is not loaded more often.
    """

    def __init__(self, load: Callable[[], Found], clock: Clock, every: timedelta) -> None:
        self._load = load
        self._clock = clock
        self._every = every
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sluice-console")
        self._under_way: Future[None] | None = None
        self._begun: datetime | None = None
        self._found: tuple[Found, datetime] | None = None
        self._error = ""
        self._lock = Lock()

    def get(self) -> CachedValue[Found]:
        """Return the newest value at once, or after a tenth of a second if there is none."""
        with self._lock:
            now = self._clock.now()
            at_work = self._under_way is not None and not self._under_way.done()
            if not at_work and (self._begun is None or now - self._begun >= self._every):
                self._begun = now
                self._under_way = self._thread.submit(self._do)
            under_way, known = self._under_way, self._found
        if known is None and under_way is not None:
            wait([under_way], PATIENCE_SECONDS)
        with self._lock:
            value, at = self._found or (None, None)
            refreshing = self._under_way is not None and not self._under_way.done()
            return CachedValue(value, at, self._error, refreshing)

    def _do(self) -> None:
        try:
            value = self._load()
        except Exception as error:  # noqa: BLE001 - the page shows every error
            with self._lock:
                self._error = str(error)
            return
        with self._lock:
            self._found, self._error = (value, self._clock.now()), ""
