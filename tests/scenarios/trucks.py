"""Trucks, worked out reading by reading."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from tests.scenarios.records import on_time

TABLES = ("truck_stops", "fence_crossings", "engine_faults", "route_fuel")
NUMBER = (int, float)
POSITION = {"truck": (str,), "lat": NUMBER, "lon": NUMBER, "km_per_hour": NUMBER}
READING = {"truck": (str,), "route": (str,), "coolant_c": NUMBER, "fuel_used_l": NUMBER, "odometer_km": NUMBER}
RULES: dict[str, Any] = {"lateness": timedelta(minutes=10), "skew": timedelta(minutes=1)}
PAUSE = timedelta(minutes=5)
Rows = list[dict[str, Any]]


def tables(sent: dict[str, Sequence[bytes]], project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of all tables, given the values of each topic."""
    positions = on_time(sent["positions"], POSITION, event="measured_at", arrival="position_seen_at", **RULES)
    readings = on_time(sent["engines"], READING, event="read_at", arrival="engine_seen_at", **RULES)
    with (project / "include" / "data" / "geofences.csv").open(encoding="utf-8") as file:
        fences = list(csv.DictReader(file))
    driven, read = by_truck(positions, "measured_at"), by_truck(readings, "read_at")
    return {
        "truck_stops": pd.DataFrame(row for each in driven for row in stops(each)),
        "fence_crossings": pd.DataFrame(row for each in driven for fence in fences for row in crossings(each, fence)),
        "engine_faults": pd.DataFrame(row for each in read for row in faults(each)),
        "route_fuel": pd.DataFrame(row for each in read for row in routes(each)),
    }


def by_truck(records: Iterable[dict[str, Any]], time: str) -> list[Rows]:
    """Return the records of each truck in order, each once."""
    once = {(record["truck"], record[time]): record for record in records}
    trucks: dict[str, Rows] = defaultdict(list)
    for _, record in sorted(once.items()):
        trucks[record["truck"]].append(record)
    return list(trucks.values())


def stops(positions: Rows) -> Rows:
    standing = [each for each in positions if each["km_per_hour"] < 3]
    ends = [n for n, (a, b) in enumerate(pairwise(standing), 1) if b["measured_at"] - a["measured_at"] >= PAUSE]
    rows = []
    for first, last in pairwise([0, *ends, len(standing)] if standing else []):
        begin, end = standing[first], standing[last - 1]
        times = {"began_at": begin["measured_at"], "ended_at": end["measured_at"] + PAUSE}
        seconds = math.floor((end["measured_at"] - begin["measured_at"]).total_seconds())
        place = {"lat_e5": round(begin["lat"] * 1e5), "lon_e5": round(begin["lon"] * 1e5)}
        rows.append({**times, "truck": begin["truck"], **place, "seconds": seconds})
    return rows


def crossings(positions: Rows, fence: dict[str, str]) -> Rows:
    rows = []
    for before, now in pairwise(positions):
        was, is_in = within(before, fence), within(now, fence)
        if was != is_in:
            row = {"crossed_at": now["measured_at"], "truck": now["truck"], "place": fence["place"], "entered": is_in}
            rows.append(row)
    return rows


def within(position: dict[str, Any], fence: dict[str, str]) -> bool:
    a, b = (
        (math.radians(lat), math.radians(lon))
        for lat, lon in ((position["lat"], position["lon"]), (float(fence["lat"]), float(fence["lon"])))
    )
    angle = math.sin(a[0]) * math.sin(b[0]) + math.cos(a[0]) * math.cos(b[0]) * math.cos(a[1] - b[1])
    return 6371 * math.acos(min(1.0, angle)) <= float(fence["km"])


def faults(readings: Rows) -> Rows:
    hot = [each["coolant_c"] > 105 for each in readings]
    third = [n for n in range(2, len(hot)) if hot[n - 2 : n + 1] == [True] * 3 and (n == 2 or not hot[n - 3])]
    return [
        {"since": readings[n]["read_at"], "truck": readings[n]["truck"], "tenths": round(readings[n]["coolant_c"] * 10)}
        for n in third
    ]


def routes(readings: Rows) -> Rows:
    changes = [n for n, (a, b) in enumerate(pairwise(readings), 1) if a["route"] != b["route"]]
    rows = []
    for first, following in pairwise([0, *changes]):
        begin, end, after = readings[first], readings[following - 1], readings[following]
        metres = round((end["odometer_km"] - begin["odometer_km"]) * 1000)
        millilitres = round((end["fuel_used_l"] - begin["fuel_used_l"]) * 1000)
        times = {"finished_at": after["read_at"], "began_at": begin["read_at"]}
        rows.append(
            {**times, "truck": end["truck"], "route": end["route"], "metres": metres, "millilitres": millilitres}
        )
    return rows


SCALED = {
    "lat": ("lat_e5", 1e5),
    "lon": ("lon_e5", 1e5),
    "coolant_c": ("tenths", 10),
    "litres": ("millilitres", 1000),
    "km": ("metres", 1000),
}
"""Columns with fractions, which the oracle has as whole numbers."""


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them."""
    whole = {new: (rows[old] * factor).round().astype(int) for old, (new, factor) in SCALED.items() if old in rows}
    return rows.assign(**whole)
