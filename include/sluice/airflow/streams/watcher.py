"""One watcher for all deferred watches of a triggerer process.

Each trigger waits for its own future; one task observes all watched units, some hundred at a time in one thread, and
spreads that over a round of a few seconds. So neither a thousand pollers nor a burst are in the way of the event loop,
and a round costs a few queries. Verdicts on what was seen are given by another task with a thread of its own: they ask
Kafka, and a cluster that does not answer must not delay the news of a death.

Invariants:
* level-triggered: every round reads everything again; nothing is remembered that a restart of the triggerer could lose;
* a hint wakes a task, which reads the truth itself; a missed, early or repeated hint does no harm;
* an observation that fails disturbs no other unit, and proves nothing: no verdict is given on an older one;
* every unit is observed in every round, and a round that would cost too much gets longer, up to a minute.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from math import inf
from threading import Lock
from typing import ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary

from sluice.clock import Clock, SystemClock
from sluice.streams.health.pacing import PollRate
from sluice.streams.life.status import UnitStatus
from sluice.streams.life.watch import examine

log = logging.getLogger(__name__)

T = TypeVar("T")

OBSERVATIONS = PollRate(5.0, share=0.011)
VERDICTS = PollRate(10.0, share=0.03)
SETTLING = PollRate(1.0, share=0.01)
"""A death that a restart may explain is observed again before the next round: it is reported once it has settled."""
_NEARLY = 0.9
"""Of a verdict's period: an observation that comes a moment early must not make it wait for the next one."""
MAX_TOGETHER = 500
"""Units that are observed together. More would hold the interpreter, which the event loop needs, for too long."""
YOUNG = 50_000
"""Objects: several times what an observation of that many units makes, a few megabytes."""


class Hint(StrEnum):
    """Why a waiting task is woken."""

    CHANGED = "changed"  # something ended: read the truth
    DAY_OVER = "day_over"  # the watch has lasted long enough
    HANDED_OVER = "handed_over"  # a younger watch of the same generation is here


@dataclass(frozen=True, order=True)
class Watch:
    """What one trigger waits for: a generation of a unit, until a time (UTC). The younger watch has the later end."""

    unit: str
    generation: int
    until: datetime


class Observer(Protocol):
    """Observes units. Both methods block, and are called by several threads; verdicts are asked for by one at a time.

    What happens to one unit disturbs no other. An exception concerns all, and proves nothing of any.
    """

    def observe(self, units: Sequence[str]) -> Mapping[str, UnitStatus]:
        """Return what is recorded and seen of those that could be observed; put proven deaths on record."""
        ...

    def record_verdicts(self, statuses: Mapping[str, UnitStatus]) -> None:
        """Judge the streams of units that were observed a moment ago, and record what changed."""
        ...


class Watcher:
    """Wakes triggers. Lives in one event loop; its methods are called there."""

    _of_loop: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher]] = WeakKeyDictionary()

    def __init__(
        self,
        observer: Observer,
        *,
        observations: PollRate = OBSERVATIONS,
        verdicts: PollRate = VERDICTS,
        settling: PollRate = SETTLING,
        clock: Clock | None = None,
    ) -> None:
        self._observer = observer
        self._observations = observations
        self._verdicts = verdicts
        self._settle = settling
        self._clock = clock or SystemClock()
        self._settling: set[str] = set()
        self._statuses: dict[str, UnitStatus] = {}
        self._news = asyncio.Event()  # there are statuses, or no watch waits any more
        self._judged_at: dict[str, float] = {}
        self._waiting: dict[str, dict[Watch, set[asyncio.Future[Hint]]]] = {}
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
        self._waiting.setdefault(watch.unit, {}).setdefault(watch, set()).add(future)
        self._keep_running("sluice-observe", self._observation_rounds)
        try:
            return await future
        finally:
            self._forget(watch, future)

    def _forget(self, watch: Watch, future: asyncio.Future[Hint]) -> None:
        watches = self._waiting[watch.unit]
        watches[watch].discard(future)
        if not watches[watch]:
            del watches[watch]
        if not watches:
            del self._waiting[watch.unit]
            self._statuses.pop(watch.unit, None)
            self._judged_at.pop(watch.unit, None)
            self._news.set()

    def _keep_running(self, name: str, rounds: Callable[[], Coroutine[None, None, None]]) -> None:
        if name not in self._tasks or self._tasks[name].done():
            self._tasks[name] = asyncio.create_task(rounds(), name=name)

    async def _settle_rounds(self) -> None:
        """Observe again the units whose driver has just ended, until that is settled or followed up."""
        cost = 0.0
        with _one_thread("sluice-settle") as thread:
            while self._settling:
                await asyncio.sleep(self._settle.period(cost))
                units, self._settling = sorted(self._settling & self._waiting.keys()), set()
                statuses, cost = await asyncio.get_running_loop().run_in_executor(
                    thread, _with_cpu_seconds, self._observe, units
                )
                self._take_in(units, statuses)

    async def _observation_rounds(self) -> None:
        """Observe everything again and again, evenly spread, for as long as a watch waits."""
        loop = asyncio.get_running_loop()
        before, cost = 0.0, 0.0
        with _one_thread("sluice-observe") as thread, _rare_collections():
            while self._waiting:
                everything = sorted(self._waiting)
                parts = [everything[at : at + MAX_TOGETHER] for at in range(0, len(everything), MAX_TOGETHER)]
                # What only one round paid for, such as reading all specs, makes the next one no longer.
                pause, begun = self._observations.period(min(before, cost)) / len(parts), loop.time()
                before, cost = cost, 0.0
                for number, part in enumerate(parts, 1):
                    if not (units := [unit for unit in part if unit in self._waiting]):
                        continue
                    statuses, spent = await loop.run_in_executor(thread, _with_cpu_seconds, self._observe, units)
                    cost += spent
                    self._take_in(units, statuses)
                    await asyncio.sleep(max(0.0, begun + number * pause - loop.time()))

    async def _verdict_rounds(self) -> None:
        """Judge what was observed right after the observation, unless that was done a short while ago.

        With rounds of its own as long as those of the observations, it would now and then find nothing new of a unit,
        and come back to it after two minutes.
        """
        loop = asyncio.get_running_loop()
        before, cost = 0.0, 0.0  # CPU seconds per unit
        with _one_thread("sluice-verdicts") as thread:
            while self._waiting:
                period = self._verdicts.period(min(before, cost) * len(self._waiting))
                if not (units := due(self._statuses, self._judged_at, loop.time(), period)):
                    self._news.clear()
                    await self._news.wait()
                    continue
                self._judged_at.update(dict.fromkeys(units, loop.time()))
                _, spent = await loop.run_in_executor(thread, _with_cpu_seconds, self._record, units)
                before, cost = cost, spent / len(units)

    def _observe(self, units: Sequence[str]) -> Mapping[str, UnitStatus]:
        """Observe units once (in a thread)."""
        try:
            return self._observer.observe(units)
        except Exception:
            log.warning("Could not check %s; that proves nothing, and is tried again.", _named(units), exc_info=True)
            return {}

    def _record(self, units: Sequence[str]) -> None:
        """Record the verdicts of units (in a thread)."""
        # Each status is judged once: two observations agree only if there were two.
        seen = {unit: status for unit in units if (status := self._statuses.pop(unit, None)) is not None}
        try:
            if seen:
                self._observer.record_verdicts(seen)
        except Exception:
            log.warning("Could not record the verdicts of %s; that is tried again.", _named(units), exc_info=True)

    def _take_in(self, units: Iterable[str], statuses: Mapping[str, UnitStatus]) -> None:
        """Take in new statuses of units: wake those that wait for them, and have verdicts given on them."""
        for unit in units:
            if unit in statuses and unit in self._waiting:
                self._statuses[unit] = statuses[unit]
            else:
                self._statuses.pop(unit, None)
        if self._statuses:
            self._news.set()
            self._keep_running("sluice-verdicts", self._verdict_rounds)
        self._wake(units, statuses)

    def _wake(self, units: Iterable[str], statuses: Mapping[str, UnitStatus]) -> None:
        watches = [watch for unit in units for watch in self._waiting.get(unit, ())]
        now = self._clock.now()
        hinted = hints(watches, statuses, now)
        for watch, hint in hinted.items():
            for future in self._waiting[watch.unit][watch]:
                if not future.done():
                    future.set_result(hint)
        ended = {unit for unit, status in statuses.items() if status.ended and not _waits(status, now)}
        if settling := {watch.unit for watch in watches if watch.unit in ended and watch not in hinted}:
            self._settling |= settling
            self._keep_running("sluice-settle", self._settle_rounds)


def _waits(status: UnitStatus, now: datetime) -> bool:
    """Whether a unit waits for records, which no closer look brings."""
    return status.attempt is not None and examine(status, status.attempt.generation, now=now).rests


def due(observed: Iterable[str], judged_at: Mapping[str, float], now: float, period: float) -> Sequence[str]:
    """Return the units to judge now, as many as are judged together."""
    since = now - _NEARLY * period
    return list(islice((unit for unit in observed if judged_at.get(unit, -inf) <= since), MAX_TOGETHER))


def _with_cpu_seconds(ask: Callable[[Sequence[str]], T], units: Sequence[str]) -> tuple[T, float]:
    """Return an answer, and the CPU seconds of this thread that it took."""
    begun = time.thread_time()
    return ask(units), time.thread_time() - begun


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Have the garbage collector wait until there is more to collect.

    What is made for some hundred units is alive at once, and gone a moment later. A collection in between takes it for
    something that stays, and for that observes all that the process has: a third of what a verdict costs.
    """
    _CollectorThreshold.raise_it()
    try:
        yield
    finally:
        _CollectorThreshold.release()


class _CollectorThreshold:
    """The collector's threshold, which is the process's own: the last of several watchers puts it back.

    Watchers may end in another order than they began. If each restored what it had found, the one that began second
    would leave the first one's threshold behind for good.
    """

    _lock = Lock()
    _holders = 0
    _before = (0, 0, 0)

    @classmethod
    def raise_it(cls) -> None:
        with cls._lock:
            if cls._holders == 0:
                cls._before = gc.get_threshold()
                if cls._before[0]:  # 0: the collector is switched off
                    gc.set_threshold(max(cls._before[0], YOUNG), *cls._before[1:])
            cls._holders += 1

    @classmethod
    def release(cls) -> None:
        with cls._lock:
            cls._holders -= 1
            if cls._holders == 0:
                gc.set_threshold(*cls._before)


def _named(units: Sequence[str]) -> str:
    """Return a unit's name, or the first of many."""
    return f"unit {units[0]}" if len(units) == 1 else f"{len(units)} units from {units[0]} on" if units else "no unit"


@contextmanager
def _one_thread(name: str) -> Iterator[ThreadPoolExecutor]:
    """Give a thread, and let it go without waiting: what it observes may not answer for a while."""
    executor = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def hints(watches: Iterable[Watch], statuses: Mapping[str, UnitStatus], now: datetime) -> dict[Watch, Hint]:
    """Say which watches have something to see. A unit without a status could not be observed."""
    waiting = list(watches)
    youngest: dict[tuple[str, int], Watch] = {}
    for watch in waiting:
        other = youngest.setdefault((watch.unit, watch.generation), watch)
        if other.until < watch.until:
            youngest[watch.unit, watch.generation] = watch
    hinted = {}
    for watch in waiting:
        status = statuses.get(watch.unit)
        if status is not None and examine(status, watch.generation, now=now).over:
            hinted[watch] = Hint.CHANGED
        elif now >= watch.until:
            hinted[watch] = Hint.DAY_OVER
        elif youngest[watch.unit, watch.generation] is not watch:
            hinted[watch] = Hint.HANDED_OVER
    return hinted
