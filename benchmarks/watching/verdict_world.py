"""A world for verdicts: traffic, a stream of micro-batches, a watcher, and faults. Seeded, without a clock.

A batch takes all records that have arrived (or a cap), and its time is a fixed part plus one per record, with noise:
15 % for a batch of 5 seconds and less for a longer one, as it averages over more tasks (never below 3 %). On top come
collections of garbage (six an hour of work, mostly of seconds; once in fifty hours 10-30 s) and, everywhere, restarts.
Arrivals vary by 10 % from one 10 seconds to the next. An observation comes every 10-12 s, one in thirty is missed
altogether, and one in fifty cannot see the broker.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from random import Random

import numpy as np

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.observation import Observation
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.position.checkpoint import CommittedBatch, PlannedBatch

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
_STEP = 10.0  # seconds between two points of the arrivals curve
_RATE = 500.0  # records per second, on average
_PARTITION = "flights/0"
_SEGMENT_SECONDS = 120.0
_BEGINS = 900.0
_SILENT_HOURS = 2  # of five
_BURST_SECONDS = 300


class Traffic(StrEnum):
    """How records arrive."""

    STEADY = "steady"
    DIURNAL = "diurnal"
    LOW = "low"  # a record every three minutes, and two hours in five without any
    BURSTS = "bursts"  # three times as much for 5 of every 30 minutes


class Fault(StrEnum):
    """What goes wrong."""

    LEAK = "leak"  # a little more arrives than it can read
    DEAD = "dead"  # the process exists and does nothing any more, whatever it was at
    STUCK = "stuck"  # one batch never ends
    KILLED = "killed"
    UNREACHABLE = "unreachable"  # the broker does not answer
    RECREATED = "recreated"  # the topic was deleted and created again
    RETENTION = "retention"  # it reads half of what arrives, and what waits is deleted after an hour and a half


_ENDS = frozenset({Fault.DEAD, Fault.KILLED, Fault.RECREATED})
"""After these, nothing is committed any more, whatever was planned."""


@dataclass(frozen=True)
class World:
    """One history.

    Attributes:
        trigger: seconds.
        load: share of its capacity that the stream uses at its usual traffic; for `DIURNAL`, at noon.
        overhead: the fixed part of a batch, as a share of the trigger.
        capped: whether a batch has a limit, which then is what bounds the capacity.
        hours: how long it is watched.
        fault_at: seconds after its begin.
        leak: how much more arrives than can be read, as a share.
    """

    seed: int
    traffic: Traffic = Traffic.STEADY
    trigger: float = 5.0
    load: float = 0.6
    overhead: float = 0.1
    capped: bool = False
    hours: float = 6.0
    fault: Fault | None = None
    fault_at: float = 0.0
    leak: float = 0.02


@dataclass(frozen=True)
class _Planned:
    number: int
    planned: float
    committed: float  # infinite: never
    end: int
    work: float  # seconds that it takes, or would


class Simulation:
    """Plays a world. Everything is worked out beforehand, so that observations may come in any rhythm."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._random = Random(world.seed)  # noqa: S311 - a seeded world
        self._arrived = _arrivals(world)
        self._starts = self._restarts()
        self._batches = self._play()
        self._commits = [b.committed for b in self._batches if b.committed < float("inf")]

    @property
    def begins(self) -> float:
        """When the watcher begins to observe: a checkpoint with a past is there by then."""
        return _BEGINS

    @property
    def cadence(self) -> float:
        """Seconds until the next commit, had nothing gone wrong; or between three observations if that is longer."""
        until = self.world.fault_at or self.world.hours * 3600
        times = [batch.work for batch in self._batches if batch.committed < until]
        broken = [batch.work for batch in self._batches[-1:] if batch.committed == float("inf")]
        return max(30.0, self.world.trigger, float(np.median(times)) if times else 0.0, *broken)

    @property
    def shows_at(self) -> float:
        """When the fault begins to matter: for a stream that does nothing, when there is something to do."""
        world, last = self.world, self._batches[-1]
        if world.fault is Fault.STUCK:
            return last.planned
        if world.fault is not Fault.DEAD:
            return world.fault_at
        position = last.end if last.committed < float("inf") else self._batches[-2].end
        steps = (bisect_right(self._arrived, position) - 1) * _STEP
        return max(world.fault_at, steps)

    @property
    def overtaken_at(self) -> float | None:
        """When the first record is deleted unread; None if none is."""
        moments = np.arange(0.0, self.world.hours * 3600, 60.0)
        return next((float(m) for m in moments if self._log_start(m) > self._position(m) > 0), None)

    def _position(self, now: float) -> int:
        count = bisect_right(self._commits, now)
        return self._batches[count - 1].end if count else 0

    def moments(self) -> Iterator[float]:
        """Yield the moments (seconds) at which the watcher observes."""
        random, now = Random(self.world.seed + 1), self.begins  # noqa: S311 - the same
        while (now := now + random.uniform(10, 12)) < self.world.hours * 3600:
            if random.random() > 1 / 30:
                yield now

    def observe(self, now: float, known: int) -> Observation:
        """Return what an observation shows that knows the batches up to a number already."""
        world, count = self.world, bisect_right(self._commits, now)
        broken = world.fault is not None and now >= world.fault_at
        blind = (broken and world.fault is Fault.UNREACHABLE) or _chance(world, now) < 1 / 50
        newest = self._batches[count - 1] if count else None
        running = self._batches[count] if count < len(self._batches) else None
        recreated = broken and world.fault is Fault.RECREATED
        end = self.arrived(now) - (self.arrived(world.fault_at) if recreated else 0)
        return Observation(
            at=_moment(now),
            unit="flights",
            driver=self._driver(now),
            committed={} if newest is None else {_PARTITION: newest.end},
            batches=count,
            committed_at=None if newest is None else _moment(newest.committed),
            ends=None if blind else {_PARTITION: end},
            starts=None if blind else {_PARTITION: self._log_start(now)},
            history=tuple(_committed(b) for b in reversed(self._batches[max(known + 1, count - 100) : count])),
            running=None if running is None or running.planned > now else _plan(running),
            topic_id="second" if recreated else "first",
            rhythm=Rhythm(
                timedelta(seconds=world.trigger),
                cap=self._cap,
                retention=_retention(world),
            ),
        )

    def arrived(self, now: float) -> int:
        """Return how many records have arrived."""
        place = min(now / _STEP, len(self._arrived) - 1.001)
        below = int(place)
        low, high = self._arrived[below], self._arrived[below + 1]
        return int(low + (high - low) * (place - below))

    def _log_start(self, now: float) -> int:
        retention = _retention(self.world)
        if retention is None:
            return 0
        before = now - retention.total_seconds()
        return self.arrived(max(0.0, before - before % _SEGMENT_SECONDS))

    def _driver(self, now: float) -> DriverReport:
        started = max(start for start, _ in self._starts if start <= now)
        report = DriverReport("sim.flights.g1", DriverState.RUNNING, 7, _moment(started))
        if self.world.fault is Fault.KILLED and now >= self.world.fault_at:
            return replace(report, state=DriverState.ENDED, ended_at=_moment(self.world.fault_at), exit_code=-9)
        return report

    def _restarts(self) -> list[tuple[float, float]]:
        """Return when drivers start and from when they work: a restart in 12 hours, done in 20-90 s."""
        starts, now = [(0.0, 30.0)], 0.0
        while (now := now + self._random.expovariate(1 / (12 * 3600))) < self.world.hours * 3600:
            starts.append((now, now + self._random.uniform(20, 90)))
        return starts

    def _play(self) -> list[_Planned]:
        world, batches, position, now = self.world, [], 0, 30.0
        until = world.hours * 3600
        restarts = iter(self._starts[1:])
        restart = next(restarts, None)
        while now < until:
            if restart is not None and now >= restart[0]:
                now, restart = max(now, restart[1]), next(restarts, None)
            if world.fault in _ENDS and now >= world.fault_at:
                break
            if self.arrived(now) == position:
                now = self._next_trigger(now, now)
                continue
            end = min(self.arrived(now), position + (self._cap or 10**12))
            work = self._duration(now, end - position)
            committed = now + work
            if restart is not None and committed > restart[0]:
                # The batch is planned, the driver ends, and the next one repeats it.
                again = restart[1] + self._duration(now, end - position)
                committed, restart = again, next(restarts, None)
            committed = self._broken(now, committed)
            batches.append(_Planned(len(batches), now, committed, end, work))
            if committed == float("inf"):
                break
            position, now = end, self._next_trigger(now, committed + 0.05)
        return batches

    def _broken(self, planned: float, committed: float) -> float:
        world = self.world
        never = (world.fault is Fault.STUCK and planned >= world.fault_at) or (
            world.fault in _ENDS and committed >= world.fault_at
        )
        return float("inf") if never else committed

    def _next_trigger(self, planned: float, free: float) -> float:
        """Spark fires at multiples of the trigger, or at once if one has passed."""
        return max(free, (planned // self.world.trigger + 1) * self.world.trigger)

    @property
    def _cap(self) -> int | None:
        return int(_RATE * self.world.trigger) if self.world.capped else None

    def _duration(self, now: float, records: int) -> float:
        world = self.world
        each = _load_at(world, now) / _RATE
        if world.traffic is Traffic.LOW:
            each = 0.01
        if world.capped:
            each = 0.5 / _RATE
        seconds = world.overhead * world.trigger + records * each
        noise = max(0.03, 0.15 * min(1.0, (5.0 / max(seconds, 0.1)) ** 0.5))
        seconds *= self._random.lognormvariate(0, noise)
        if self._random.random() < seconds * 6 / 3600:
            seconds += self._random.lognormvariate(0.4, 0.8)
        if self._random.random() < seconds / (50 * 3600):
            seconds += self._random.uniform(10, 30)
        return seconds


def _arrivals(world: World) -> list[float]:
    """Return the number of records that have arrived, every ten seconds."""
    random = np.random.default_rng(world.seed)
    steps = int(world.hours * 3600 / _STEP) + 2
    at = np.arange(steps) * _STEP
    if world.traffic is Traffic.LOW:
        silent = (at // 3600 + 2 + world.seed % 2) % 5 < _SILENT_HOURS  # never the first two
        return np.cumsum(random.poisson(_STEP / 180, steps) * ~silent).tolist()  # type: ignore[no-any-return]
    shape = np.ones(steps)
    if world.traffic is Traffic.DIURNAL:
        shape = 0.55 - 0.45 * np.cos(2 * np.pi * (at / 86_400 + (world.seed % 24) / 24))
    if world.traffic is Traffic.BURSTS:
        shape = np.where((at + world.seed * 60) % 1800 < _BURST_SECONDS, 3.0, 1.0)
    if world.capped:
        shape = shape * [_load_at(world, moment) for moment in at]
    noise = random.lognormal(-0.005, 0.1, steps)
    return np.cumsum(_RATE * _STEP * shape * noise).tolist()  # type: ignore[no-any-return]


def _chance(world: World, now: float) -> float:
    """Return a number that depends on the moment alone."""
    return Random(f"{world.seed}/{now}").random()  # noqa: S311 - the same


def _load_at(world: World, now: float) -> float:
    """Return the share of its capacity that the usual traffic uses. Without a cap it is the capacity that changes."""
    broken = now >= world.fault_at
    if world.fault is Fault.LEAK and broken:
        return 1 + world.leak
    return 2.0 if world.fault is Fault.RETENTION and broken else world.load


def _retention(world: World) -> timedelta | None:
    return timedelta(minutes=90) if world.fault is Fault.RETENTION else None


def _moment(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def _plan(batch: _Planned) -> PlannedBatch:
    return PlannedBatch(batch.number, {_PARTITION: batch.end}, None, planned_at=_moment(batch.planned))


def _committed(batch: _Planned) -> CommittedBatch:
    offsets = {_PARTITION: batch.end}
    return CommittedBatch(batch.number, offsets, None, _moment(batch.committed), planned_at=_moment(batch.planned))
