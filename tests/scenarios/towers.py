"""The load of towers and the orders about them, worked out sample by sample."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from tests.scenarios.records import on_time

TABLES = ("tower_load", "reallocations")
KINDS = {"tower": (str,), "users": (int,), "mbit": (int,)}
MINUTE, LENGTH = timedelta(minutes=1), 5


def tables(sent: dict[str, Sequence[bytes]], project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of both tables, given the values of each topic."""
    with (project / "include" / "data" / "towers.csv").open(encoding="utf-8") as file:
        towers = {row["tower"]: row for row in csv.DictReader(file)}
    found = on_time(
        sent["tower_samples"], KINDS, event="sampled_at", arrival="seen_at", lateness=5 * MINUTE, skew=MINUTE
    )
    samples = {(each["sampled_at"], each["tower"]): each for each in found}
    return {
        "tower_load": pd.DataFrame(loads(samples, towers)),
        "reallocations": pd.DataFrame(orders(samples, towers)),
    }


Samples = dict[tuple[datetime, str], dict[str, Any]]


def loads(samples: Samples, towers: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    windows: dict[tuple[datetime, str], list[dict[str, Any]]] = defaultdict(list)
    for (at, tower), sample in samples.items():
        minute = at.replace(second=0, microsecond=0)
        for back in range(LENGTH):
            windows[minute - back * MINUTE, tower].append(sample)
    rows = []
    for (began_at, tower), held in windows.items():
        capacity = int(towers[tower]["capacity_mbit"]) * len(held)
        load = 1000 * sum(each["mbit"] for each in held) // capacity
        numbers = {"samples": len(held), "users_max": max(each["users"] for each in held), "load_permille": load}
        rows.append({"began_at": began_at, "tower": tower, "region": towers[tower]["region"], **numbers})
    return rows


def orders(samples: Samples, towers: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    shares: dict[str, list[int]] = defaultdict(list)
    helper: dict[str, str | None] = defaultdict(lambda: None)
    rows = []
    for (at, tower), sample in sorted(samples.items()):
        said = towers[tower]
        shares[tower].append(1000 * sample["mbit"] // int(said["capacity_mbit"]))
        if len(shares[tower]) < 9:
            continue
        load, command = average(shares[tower]), ""
        if helper[tower] is not None:
            command = "restore" if load < 700 else ""
        elif load > 900:
            near = min((average(shares[name]), name) for name in said["neighbours"].split() if shares[name])
            if near[0] < 700:
                command, helper[tower] = "relieve", near[1]
        if command:
            row = {"ordered_at": at, "tower": tower, "command": command, "neighbour": helper[tower]}
            rows.append({**row, "load_permille": load})
        if command == "restore":
            helper[tower] = None
    return rows


def average(shares: list[int]) -> int:
    newest = shares[-9:]
    return sum(newest) // len(newest)


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them."""
    return rows
