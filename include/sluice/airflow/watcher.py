"""One watcher for all deferred watches of a triggerer process.

Each trigger waits for its own future; one task looks at all watched units, in one thread, every few seconds. A hundred
streams so cost one look each, not a hundred pollers, and the event loop is never blocked.

Invariants:
* level-triggered: every round reads everything again; nothing is remembered that a restart of the triggerer could lose;
* a hint wakes a task, which reads the truth itself; a missed, early or repeated hint does no harm;
* a look that fails disturbs no other unit, and proves nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Protocol
from weakref import WeakKeyDictionary

from sluice.clock import Clock, SystemClock
from sluice.streams.life import Sighting
from sluice.streams.watch import examine

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0


class Hint(StrEnum):
    """Why a waiting task is woken."""

    LOOK = "look"  # something ended: read the truth
    DAY_OVER = "day_over"  # the watch has lasted long enough
    HANDED_OVER = "handed_over"  # a younger watch of the same generation is here


@dataclass(frozen=True, order=True)
class Watch:
    """What one trigger waits for: a generation of a unit, until a time (UTC). The younger watch has the later end."""

    unit: str
    generation: int
    until: datetime


class Observer(Protocol):
    """Looks at units. Both methods block, and run in the watcher's only thread."""

    def look(self, unit: str) -> Sighting:
        """Return what is recorded and seen; put a proven death on record."""
        ...

    def record_verdicts(self, unit: str, generation: int) -> None:
        """Judge the unit's streams and record what changed."""
        ...


class Watcher:
    """Wakes triggers. Lives in one event loop; its methods are called there."""

    _of_loop: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher]] = WeakKeyDictionary()

    def __init__(self, observer: Observer, *, poll_seconds: float = POLL_SECONDS, clock: Clock | None = None) -> None:
        self._observer = observer
        self._poll_seconds = poll_seconds
        self._clock = clock or SystemClock()
        self._waiting: dict[Watch, set[asyncio.Future[Hint]]] = {}
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def of_running_loop(cls, make: Callable[[], Watcher]) -> Watcher:
        """Return the running loop's watcher; the first caller makes it."""
        loop = asyncio.get_running_loop()
        if loop not in cls._of_loop:
            cls._of_loop[loop] = make()
        return cls._of_loop[loop]

    async def wait(self, watch: Watch) -> Hint:
        """Return when there is something to see. Cancel it freely."""
        future: asyncio.Future[Hint] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(watch, set()).add(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="sluice-watcher")
        try:
            return await future
        finally:
            self._forget(watch, future)

    def _forget(self, watch: Watch, future: asyncio.Future[Hint]) -> None:
        futures = self._waiting[watch]
        futures.discard(future)
        if not futures:
            del self._waiting[watch]

    async def _run(self) -> None:
        """Look at everything again and again, for as long as anybody waits."""
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, thread_name_prefix="sluice-watcher")
        try:
            while self._waiting:
                units = sorted({watch.unit for watch in self._waiting})
                sightings = await loop.run_in_executor(thread, self._look, units)
                self._wake(sightings)
                await loop.run_in_executor(thread, self._record, sightings)
                await asyncio.sleep(self._poll_seconds)
        finally:
            thread.shutdown(wait=False, cancel_futures=True)

    def _look(self, units: Iterable[str]) -> Mapping[str, Sighting]:
        """Look at each unit once (in the thread)."""
        seen = {}
        for unit in units:
            try:
                seen[unit] = self._observer.look(unit)
            except Exception:
                log.warning("Could not look at unit %s; that proves nothing, and is tried again.", unit, exc_info=True)
        return seen

    def _record(self, sightings: Mapping[str, Sighting]) -> None:
        """Record the verdicts of each unit (in the thread), after the hints: Kafka may take its time."""
        for unit, sighting in sightings.items():
            if sighting.attempt is None:
                continue
            try:
                self._observer.record_verdicts(unit, sighting.attempt.generation)
            except Exception:
                log.warning("Could not record the verdicts of unit %s; that is tried again.", unit, exc_info=True)

    def _wake(self, sightings: Mapping[str, Sighting]) -> None:
        for watch, hint in hints(self._waiting, sightings, self._clock.now()).items():
            for future in self._waiting[watch]:
                if not future.done():
                    future.set_result(hint)


def hints(watches: Iterable[Watch], sightings: Mapping[str, Sighting], now: datetime) -> dict[Watch, Hint]:
    """Say which watches have something to see. A unit without a sighting could not be looked at.

    Args:
        watches: all that wait.
        sightings: what was seen, by unit.
        now: the present (UTC).
    """
    waiting = sorted(watches)
    youngest = {(watch.unit, watch.generation): watch for watch in waiting}
    found = {}
    for watch in waiting:
        sighting = sightings.get(watch.unit)
        if sighting is not None and examine(sighting, watch.generation, now=now).over:
            found[watch] = Hint.LOOK
        elif now >= watch.until:
            found[watch] = Hint.DAY_OVER
        elif youngest[watch.unit, watch.generation] != watch:
            found[watch] = Hint.HANDED_OVER
    return found
