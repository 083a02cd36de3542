"""Verdicts in a simulated world: false alarms over healthy traffic, and how soon each fault is told for what it is.

The rules were tuned on seeds below 10,000; what is reported comes from seeds above a million, which nobody had seen
before. An alarm is a change from fine to not fine; an observation that could not see is neither. Beside ours, a fixed
threshold and Burrow's published rules judge the same observations; any alarm of theirs counts as the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from math import exp, lgamma, log, sqrt
from random import Random
from typing import Any

from benchmarks.watching.verdict_monitors import BLIND, FINE_WORD, Burrow, Monitor, Threshold, Verdicts
from benchmarks.watching.verdict_world import Fault, Simulation, Traffic, World

HELD_OUT = 1_000_000
_MONITORS: Mapping[str, Callable[[], Monitor]] = {"verdicts": Verdicts, "threshold": Threshold, "burrow": Burrow}
_RIGHT = {
    Fault.LEAK: "LAGGING",
    Fault.DEAD: "STALLED",
    Fault.STUCK: "STALLED",
    Fault.KILLED: "STOPPED",
    Fault.UNREACHABLE: BLIND,
    Fault.RECREATED: "REWOUND",
    Fault.RETENTION: "LOSS_RISK",
}
_TRUE_AS_WELL = {Fault.RETENTION: {"LAGGING"}}
_SEEN_BY_ALL = (Fault.LEAK, Fault.DEAD, Fault.STUCK)
_AFTER_HOURS = {Fault.LEAK: 4.0, Fault.RETENTION: 4.5, Fault.DEAD: 3.0, Fault.STUCK: 3.0}
_Z = 1.96
_CAPPED_SHARE = 0.2


@dataclass(frozen=True)
class Size:
    """How many histories: of a day for each kind of healthy traffic, and of each fault."""

    healthy: int
    faults: int
    hours: float = 24.0


_SIZES = {"full": Size(40, 150), "small": Size(1, 2, 2.0)}


@dataclass(frozen=True)
class Story:
    """What one monitor said of one world.

    Attributes:
        hours: before anything went wrong.
        false: alarms in that time, and wrong ones after it.
        found: seconds from when the fault mattered to the right alarm; None if it never came.
        cadences: the same in cadences of the stream.
        lead: seconds from the right alarm to the first loss, where there is one.
    """

    monitor: str
    world: World
    hours: float
    false: tuple[str, ...] = ()
    found: float | None = None
    cadences: float | None = None
    lead: float | None = None


@dataclass
class _Listener:
    """Follows one monitor through a world."""

    name: str
    monitor: Monitor
    fine: bool = True
    false: list[str] = field(default_factory=list)
    found: float | None = None

    def hear(self, now: float, word: str, world: World) -> None:
        broken = world.fault is not None and now >= world.fault_at
        if broken and self.found is None and self._is_right(word, world.fault):
            self.found = now
        if word == BLIND:
            return
        alarm = self.fine and word != FINE_WORD
        self.fine = word == FINE_WORD
        if alarm and self.found is None and word not in _TRUE_AS_WELL.get(world.fault, ()):  # type: ignore[arg-type]
            self.false.append(word)

    def _is_right(self, word: str, fault: Fault | None) -> bool:
        if self.name != "verdicts":
            return word not in {FINE_WORD, BLIND}
        return fault is not None and word == _RIGHT[fault]


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and the bounds and tables behind them.

    Args:
        size: `full`, or `small` to try the machinery.
    """
    worlds = list(_worlds(_SIZES[size], HELD_OUT))
    with ProcessPoolExecutor() as pool:
        stories = list(chain.from_iterable(pool.map(tell, worlds, chunksize=4)))
    ours = [story for story in stories if story.monitor == "verdicts"]
    figures, bounds = _figures(ours)
    table = {name: _row([story for story in stories if story.monitor == name]) for name in _MONITORS}
    notes = {"size": size, "seeds_from": HELD_OUT, "histories": len(worlds), "bounds_95": bounds}
    return figures, {**notes, "table": table, "by_fault": _by_fault(ours), "wrong": _wrong(ours)}


def tell(world: World) -> list[Story]:
    """Play a world before all monitors."""
    simulation = Simulation(world)
    listeners = [_Listener(name, make()) for name, make in _MONITORS.items()]
    for now in simulation.moments():
        known = min(listener.monitor.known for listener in listeners)
        seen = simulation.observe(now, known)
        for listener in listeners:
            listener.hear(now, listener.monitor.observe(seen), world)
        if all(listener.found is not None for listener in listeners):
            break
    return [_story(listener, simulation) for listener in listeners]


def _story(listener: _Listener, simulation: Simulation) -> Story:
    world = simulation.world
    hours = (world.fault_at / 3600 if world.fault else world.hours) - simulation.begins / 3600
    story = Story(listener.name, world, hours, tuple(listener.false))
    if listener.found is None:
        return story
    late = max(0.0, listener.found - simulation.shows_at)
    lost = simulation.overtaken_at if world.fault is Fault.RETENTION else None
    lead = None if lost is None else lost - listener.found
    return Story(listener.name, world, hours, story.false, late, late / simulation.cadence, lead)


def _worlds(size: Size, seed: int) -> Sequence[World]:
    healthy = [world_of(seed + i, traffic, size.hours) for traffic in Traffic for i in range(size.healthy)]
    return healthy + [faulty(seed + i, fault) for fault in Fault for i in range(size.faults)]


def world_of(seed: int, traffic: Traffic, hours: float) -> World:
    """Return a healthy world: any trigger, a load from a third up to where it is barely healthy, capped or not."""
    random = Random(f"{seed}/{traffic}")  # noqa: S311 - a seeded world
    capped = traffic is not Traffic.LOW and random.random() < _CAPPED_SHARE
    most = {Traffic.BURSTS: 0.5 if capped else 0.6}.get(traffic, 0.9)
    return World(
        seed=seed,
        traffic=traffic,
        trigger=random.choice([5.0, 10.0, 30.0, 60.0]),
        load=random.uniform(0.3, most),
        overhead=random.uniform(0.02, 0.1),
        capped=capped,
        hours=hours,
    )


def faulty(seed: int, fault: Fault, leak: float = 0.02) -> World:
    """Return a world that is healthy for about two hours."""
    random = Random(f"{seed}/{fault}")  # noqa: S311 - a seeded world
    steady = fault in {Fault.LEAK, Fault.RETENTION}
    world = world_of(seed, Traffic.STEADY if steady else random.choice(list(Traffic)), 0.0)
    fault_at = random.uniform(5400.0, 9000.0)
    return World(
        seed=seed,
        traffic=world.traffic,
        trigger=world.trigger,
        load=world.load,
        overhead=world.overhead,
        capped=world.capped or fault is Fault.RETENTION,
        hours=fault_at / 3600 + _AFTER_HOURS.get(fault, 2.0),
        fault=fault,
        fault_at=fault_at,
        leak=leak,
    )


def _figures(stories: Sequence[Story]) -> tuple[dict[str, Any], dict[str, Any]]:
    false, hours = _false(stories)
    faults = [story for story in stories if story.world.fault is not None]
    hits = sum(story.found is not None for story in faults)
    leaks = [story for story in faults if story.world.fault is Fault.LEAK]
    minutes = [story.found / 60 for story in leaks if story.found is not None]
    cadences = {fault: _cadences(stories, fault) for fault in (Fault.DEAD, Fault.STUCK)}
    missed = len(leaks) - len(minutes)
    figures = {
        "false_alarms_per_1000h": round(1000 * false / hours, 3),
        "leaks_missed": missed,
        "leak_minutes_p95": _percentile(minutes, 0.95),
        "dead_cadences": _percentile(cadences[Fault.DEAD], 0.95),
        "stuck_cadences": _percentile(cadences[Fault.STUCK], 0.95),
        "precision": round(hits / max(1, hits + sum(len(story.false) for story in stories)), 4),
        "recall": round(hits / max(1, len(faults)), 4),
    }
    wrong = sum(len(story.false) for story in stories)
    bounds = {
        "false_alarms_per_1000h": [round(1000 * bound / hours, 3) for bound in _poisson(false)],
        "healthy_hours": round(hours),
        "leaks_missed_share": _wilson(missed, len(leaks)),
        "leak_minutes_p95": _bootstrap(minutes),
        "dead_cadences": _bootstrap(cadences[Fault.DEAD]),
        "stuck_cadences": _bootstrap(cadences[Fault.STUCK]),
        "precision": _wilson(hits, hits + wrong),
        "recall": _wilson(hits, len(faults)),
    }
    return figures, bounds


def _row(stories: Sequence[Story]) -> dict[str, Any]:
    """Return what all monitors are compared by: only faults that each of them could see."""
    row: dict[str, Any] = {}
    for traffic in Traffic:
        healthy = [s for s in stories if s.world.fault is None and s.world.traffic is traffic]
        row[f"false_per_1000h_{traffic}"] = round(
            1000 * sum(len(s.false) for s in healthy) / sum(s.hours for s in healthy), 2
        )
    for fault in _SEEN_BY_ALL:
        faults = [story for story in stories if story.world.fault is fault]
        found = [story for story in faults if story.found is not None]
        row[f"{fault}_missed"] = len(faults) - len(found)
        row[f"{fault}_minutes_p95"] = _percentile(
            [story.found / 60 for story in found if story.found is not None], 0.95
        )
    return row


def _by_fault(stories: Sequence[Story]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for fault in Fault:
        faults = [story for story in stories if story.world.fault is fault]
        minutes = [story.found / 60 for story in faults if story.found is not None]
        result[fault.value] = {
            "histories": len(faults),
            "found": len(minutes),
            "minutes_p50": _percentile(minutes, 0.5),
            "minutes_p95": _percentile(minutes, 0.95),
            "minutes_max": _percentile(minutes, 1.0),
            "cadences_max": _percentile([s.cadences for s in faults if s.cadences is not None], 1.0),
        }
        leads = [story.lead / 60 for story in faults if story.lead is not None]
        if leads:
            result[fault.value]["least_minutes_before_loss"] = round(min(leads), 1)
    return result


def _wrong(stories: Sequence[Story]) -> dict[str, int]:
    words = ((f"{s.world.fault or s.world.traffic}: {word}") for s in stories for word in s.false)
    return dict(Counter(words))


def _false(stories: Sequence[Story]) -> tuple[int, float]:
    healthy = [story for story in stories if story.world.fault is None]
    return sum(len(story.false) for story in healthy), sum(story.hours for story in healthy)


def _cadences(stories: Sequence[Story], fault: Fault) -> list[float]:
    return [story.cadences for story in stories if story.world.fault is fault and story.cadences is not None]


def _percentile(values: Sequence[float], share: float) -> float | None:
    if not values:
        return None
    place = share * (len(values) - 1)
    ordered, below = sorted(values), int(place)
    above = min(below + 1, len(ordered) - 1)
    return round(ordered[below] + (ordered[above] - ordered[below]) * (place - below), 2)


def _bootstrap(values: Sequence[float], share: float = 0.95) -> list[float | None]:
    """Return a 95 % interval of a percentile, from 2,000 resamples."""
    if not values:
        return [None, None]
    random = Random(5)  # noqa: S311 - seeded
    found = sorted(_percentile(random.choices(values, k=len(values)), share) or 0.0 for _ in range(2000))
    return [found[50], found[1949]]


def _wilson(hits: int, of: int) -> list[float]:
    """Return a 95 % interval of a share."""
    if not of:
        return [0.0, 1.0]
    share, square = hits / of, _Z**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z * sqrt(share * (1 - share) / of + square / (4 * of**2)) / (1 + square / of)
    return [round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)]


def _poisson(events: int) -> list[float]:
    """Return the exact 95 % interval of a mean of which so many events were counted."""
    low = 0.0 if events == 0 else _root(lambda mean: 1 - _at_most(events - 1, mean), 0.025)
    return [low, _root(lambda mean: 1 - _at_most(events, mean), 0.975)]


def _at_most(events: int, mean: float) -> float:
    if mean <= 0:
        return 1.0
    return sum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(events + 1))


def _root(rising: Callable[[float], float], level: float) -> float:
    low, high = 0.0, 1.0
    while rising(high) < level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return high
