"""The bare watcher over a fleet: in a process of its own, whose processor time is its alone.

Usage: python -m benchmarks.watching.watch_trial <fleet as JSON> <seconds>; prints one JSON per line: what it
measured, then whom it has seen die, until its standard input closes.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.watching.watch_fleet import GENERATION, Fleet
from sluice.airflow.streams.observer import ProjectObserver
from sluice.airflow.streams.watcher import Watch, Watcher
from sluice.streams.life.status import UnitStatus

_POLL_SECONDS = 0.2


class Rhythm:
    """When each unit was done last, and the longest time between two."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self.longest = 0.0
        self.total = 0

    @property
    def units(self) -> int:
        """How many were done at least once."""
        return len(self._last)

    def done(self, units: Sequence[str]) -> None:
        """Note that some were."""
        now, last = time.monotonic(), self._last
        self.longest = max([self.longest, *(now - last[unit] for unit in units if unit in last)])
        last.update(dict.fromkeys(units, now))
        self.total += len(units)

    def begin(self) -> None:
        """Forget what was longest so far."""
        self.longest, self.total = 0.0, 0

    def longest_at(self, now: float) -> float:
        """Return the longest time, those that still last included."""
        return max(self.longest, now - min(self._last.values()))


class NotedObserver:
    """The real observer; notes who was observed."""

    def __init__(self) -> None:
        self._observer = ProjectObserver()
        self.observations, self.verdicts = Rhythm(), Rhythm()

    def observe(self, units: Sequence[str]) -> Mapping[str, UnitStatus]:
        """Observe, and note those that were seen."""
        seen = self._observer.observe(units)
        self.observations.done(list(seen))
        return seen

    def record_verdicts(self, seen: Mapping[str, UnitStatus]) -> None:
        """Judge, and note that."""
        self._observer.record_verdicts(seen)
        self.verdicts.done(list(seen))


async def watch(fleet: Fleet, seconds: float) -> None:
    """Watch until the standard input closes."""
    observer = NotedObserver()
    watcher, until = Watcher(observer), datetime.now(UTC) + timedelta(days=1)

    async def wait(unit: str) -> None:
        await watcher.wait(Watch(unit, GENERATION, until))
        _say({"died": unit, "at": time.time()})

    tasks = [asyncio.create_task(wait(unit)) for unit in fleet.units]
    begun = time.monotonic()
    while min(observer.observations.units, observer.verdicts.units) < len(fleet.units):  # noqa: ASYNC110 - it counts
        await asyncio.sleep(_POLL_SECONDS)
    first = {"first_round_seconds": time.monotonic() - begun, "first_round_cpu": time.process_time()}
    await asyncio.sleep(fleet_pause(fleet))
    observer.observations.begin()
    observer.verdicts.begin()
    at, cpu = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    now, cpu = time.monotonic(), time.process_time() - cpu
    _say({"measured": _measured(observer, now - at, cpu, now), **first})
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def fleet_pause(fleet: Fleet) -> float:
    """Return how many seconds to let pass after the first round, whose cost stretches the second."""
    return 60.0 if len(fleet.units) > 1000 else 5.0  # noqa: PLR2004 - a try-out need not wait


def _measured(observer: NotedObserver, wall: float, cpu: float, now: float) -> Mapping[str, Any]:
    return {
        "wall": wall,
        "cpu": cpu,
        "longest_observation_gap": observer.observations.longest_at(now),
        "longest_verdict_gap": observer.verdicts.longest_at(now),
        "observations": observer.observations.total,
        "verdicts": observer.verdicts.total,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "load": os.getloadavg()[0],
    }


def _say(what: Mapping[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(watch(Fleet(**json.loads(sys.argv[1])), float(sys.argv[2])))
