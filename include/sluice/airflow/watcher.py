"""One watcher for all deferred watches of a triggerer process.

Each trigger waits for its own future; one task looks at all watched units, in one thread, every few seconds. A hundred
streams so cost one look each, not a hundred pollers, and the event loop is never blocked. Verdicts are given by another
task with a thread of its own: they ask Kafka, and a cluster that does not answer must not delay the news of a death.

Invariants:
* level-triggered: every round reads everything again; nothing is remembered that a restart of the triggerer could lose;
* a hint wakes a task, which reads the truth itself; a missed, early or repeated hint does no harm;
* a look that fails disturbs no other unit, and proves nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Protocol
from weakref import WeakKeyDictionary

from sluice.clock import Clock, SystemClock
from sluice.streams.sighting import Sighting
from sluice.streams.watch import examine

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0
VERDICT_SECONDS = 10.0


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
    """Looks at units. Both methods block; each is called by one thread, but by another one than the other."""

    def look(self, unit: str) -> Sighting:
        """Return what is recorded and seen; put a proven death on record."""
        ...

    def record_verdicts(self, unit: str) -> None:
        """Judge the unit's streams and record what changed."""
        ...


class Watcher:
    """Wakes triggers. Lives in one event loop; its methods are called there."""

    _of_loop: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher]] = WeakKeyDictionary()

    def __init__(
        self,
        observer: Observer,
        *,
        poll_seconds: float = POLL_SECONDS,
        verdict_seconds: float = VERDICT_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._observer = observer
        self._poll_seconds = poll_seconds
        self._verdict_seconds = verdict_seconds
        self._clock = clock or SystemClock()
        self._waiting: dict[Watch, set[asyncio.Future[Hint]]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

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
        self._keep_running("sluice-look", self._look_rounds)
        self._keep_running("sluice-verdicts", self._verdict_rounds)
        try:
            return await future
        finally:
            self._forget(watch, future)

    def _forget(self, watch: Watch, future: asyncio.Future[Hint]) -> None:
        futures = self._waiting[watch]
        futures.discard(future)
        if not futures:
            del self._waiting[watch]

    def _keep_running(self, name: str, rounds: Callable[[], Coroutine[None, None, None]]) -> None:
        if name not in self._tasks or self._tasks[name].done():
            self._tasks[name] = asyncio.create_task(rounds(), name=name)

    async def _look_rounds(self) -> None:
        """Look at everything again and again, for as long as anybody waits."""
        with _one_thread("sluice-look") as thread:
            while self._waiting:
                sightings = await asyncio.get_running_loop().run_in_executor(thread, self._look, self._units())
                self._wake(sightings)
                await asyncio.sleep(self._poll_seconds)

    async def _verdict_rounds(self) -> None:
        """Judge everything again and again, for as long as anybody waits."""
        with _one_thread("sluice-verdicts") as thread:
            while self._waiting:
                await asyncio.get_running_loop().run_in_executor(thread, self._record, self._units())
                await asyncio.sleep(self._verdict_seconds)

    def _units(self) -> list[str]:
        return sorted({watch.unit for watch in self._waiting})

    def _look(self, units: Iterable[str]) -> Mapping[str, Sighting]:
        """Look at each unit once (in a thread)."""
        seen = {}
        for unit in units:
            try:
                seen[unit] = self._observer.look(unit)
            except Exception:
                log.warning("Could not look at unit %s; that proves nothing, and is tried again.", unit, exc_info=True)
        return seen

    def _record(self, units: Iterable[str]) -> None:
        """Record the verdicts of each unit (in a thread)."""
        for unit in units:
            try:
                self._observer.record_verdicts(unit)
            except Exception:
                log.warning("Could not record the verdicts of unit %s; that is tried again.", unit, exc_info=True)

    def _wake(self, sightings: Mapping[str, Sighting]) -> None:
        for watch, hint in hints(self._waiting, sightings, self._clock.now()).items():
            for future in self._waiting[watch]:
                if not future.done():
                    future.set_result(hint)


@contextmanager
def _one_thread(name: str) -> Iterator[ThreadPoolExecutor]:
    """Give a thread, and let it go without waiting: what it looks at may not answer for a while."""
    executor = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


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
