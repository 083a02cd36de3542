"""Trucks that drive between depots, stand there, stand in jams, and now and then run hot."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

TRUCKS = 20
PLACES = ((48.10, 11.60), (49.45, 11.08), (48.76, 11.42))
POSITION_EVERY, READING_EVERY = timedelta(seconds=30), timedelta(minutes=1)
KM_PER_HOUR, LITRES_PER_KM = 80.0, 0.28
LOADING, JAM = timedelta(minutes=25), timedelta(minutes=12)
JAM_CHANCE, HOT_CHANCE = 0.004, 0.003
"""At each position, and at each reading."""


class Truck:
    """Where one truck is, and what its meters say."""

    def __init__(self, number: int, random: Random, start: datetime) -> None:
        self.name = f"truck-{number}"
        self._random = random
        self._from, self._to = PLACES[number % len(PLACES)], PLACES[(number + 1) % len(PLACES)]
        self._share = random.random()
        self._trip = 1
        self._stands_until = start
        self._hot_until = start
        self.speed, self.km, self.litres = 0.0, 10_000.0 * (1 + number), 0.0

    def move(self, at: datetime) -> None:
        """Go on for the time between two positions."""
        if at < self._stands_until:
            self.speed = 0.0
            return
        if self._random.random() < JAM_CHANCE:
            self._stands_until = at + JAM * (0.5 + self._random.random())
        self.speed = KM_PER_HOUR * (0.8 + 0.4 * self._random.random())
        km = self.speed * (POSITION_EVERY / timedelta(hours=1))
        self.km += km
        self.litres += km * LITRES_PER_KM * (0.9 + 0.2 * self._random.random())
        self._share += km / max(distance_km(self._from, self._to), 1.0)
        if self._share >= 1:
            others = [place for place in PLACES if place != self._to]
            self._from, self._to = self._to, others[int(self._random.random() * len(others))]
            self._share, self._trip = 0.0, self._trip + 1
            self._stands_until = at + LOADING * (0.6 + 0.8 * self._random.random())

    def position(self) -> dict[str, Any]:
        """Return the fields of a position."""
        lat, lon = (a + self._share * (b - a) for a, b in zip(self._from, self._to, strict=True))
        return {"truck": self.name, "lat": round(lat, 5), "lon": round(lon, 5), "km_per_hour": round(self.speed, 1)}

    def reading(self, at: datetime) -> dict[str, Any]:
        """Return the fields of a reading of the engine."""
        if self._random.random() < HOT_CHANCE:
            self._hot_until = at + timedelta(minutes=2 + 6 * self._random.random())
        coolant = (108 if at < self._hot_until else 90) + 4 * (self._random.random() - 0.5)
        meters = {"fuel_used_l": round(self.litres, 3), "odometer_km": round(self.km, 3)}
        return {"truck": self.name, "route": f"{self.name}/{self._trip}", "coolant_c": round(coolant, 1), **meters}


def positions(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield positions in the order of their times."""
    return ((at, fields) for at, kind, fields in story(random, start, end) if kind == "position")


def engines(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield the readings of engines in the order of their times."""
    return ((at, fields) for at, kind, fields in story(random, start, end) if kind == "reading")


def story(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, str, dict[str, Any]]]:
    """Yield positions and readings in the order of their times."""
    trucks = [Truck(number, random, start) for number in range(TRUCKS)]
    due: list[tuple[datetime, int, str]] = []
    for number in range(TRUCKS):
        for kind in ("position", "reading"):
            heapq.heappush(due, (start + timedelta(seconds=round(30 * random.random(), 3)), number, kind))
    while due and due[0][0] < end:
        at, number, kind = heapq.heappop(due)
        truck = trucks[number]
        if kind == "position":
            truck.move(at)
        yield at, kind, truck.position() if kind == "position" else truck.reading(at)
        heapq.heappush(due, (at + (POSITION_EVERY if kind == "position" else READING_EVERY), number, kind))


def distance_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the distance of two points nearby, on a plane."""
    north = 111.2 * (other[0] - one[0])
    east = 111.2 * math.cos(math.radians(one[0])) * (other[1] - one[1])
    return math.hypot(north, east)
