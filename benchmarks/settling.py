"""Settling against the append engine: the same topic into the same raw table and the same interval table.

Each trial is a fresh process that drains the flights of a year; the two alternate in ABBA order. `append` runs the raw
stream and the append stream in one driver, `settle` the raw stream, then the settler. Session start is excluded. Every
table is compared with the oracle before anything is said of speed. The benchmark `shapes` follows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import shapes
from benchmarks.topics import Topics, private_topics, publish_flights
from benchmarks.trials import abba
from sluice.delta.reading import read_rows
from sluice.settings import settings
from tests.oracle import departures, differences

_PAIRS = {"full": 3, "small": 1}
_DAYS = {"full": ("2013-01-01", "2013-12-31"), "small": ("2013-01-01", "2013-01-07")}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `equal`, `ratio_append` (CPU, settle ÷ append), `small_settle_s` (one interval), and those of `shapes`."""
    days = _DAYS[size]
    with tempfile.TemporaryDirectory(prefix="sluice-settling-") as place, private_topics(Path(place)) as topics:
        first, last = map(date.fromisoformat, days)
        publish_flights(topics.bootstrap, Path(place) / "feed", first, last)
        pairs = []
        for order in abba("settle", "append", _PAIRS[size]):
            pairs.append({variant: _trial(variant, topics, Path(place), days) for variant in order})
            print(pairs[-1], file=sys.stderr, flush=True)
    figures = {
        "equal": all(trial["equal"] for pair in pairs for trial in pair.values()),
        "ratio_append": round(median(pair["settle"]["cpu"] / pair["append"]["cpu"] for pair in pairs), 3),
        "small_settle_s": round(median(pair["settle"]["small_s"] for pair in pairs), 3),
        "small_settle_cpu": round(median(pair["settle"]["small_cpu"] for pair in pairs), 3),
    }
    of_shapes, notes = shapes.run(size)
    return {**figures, **of_shapes}, {**notes, "pairs": pairs}


def _trial(variant: str, topics: Topics, folder: Path, days: tuple[str, str]) -> dict[str, Any]:
    place = folder / variant
    command = [sys.executable, "-m", "benchmarks.settling_trial", variant, topics.bootstrap, topics.ids["flights"]]
    paths = os.pathsep.join(
        [str(settings().home), str(settings().home / "include"), str(settings().home / "spark_jobs")]
    )
    environment = {**os.environ, "PYTHONPATH": paths}  # noqa: TID251  a child inherits all of it
    done = subprocess.run([*command, str(place)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    cost: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found = differences(read_rows(place / "table").to_pandas(), departures(*days))
    shutil.rmtree(place)
    return {**cost, "equal": not found}
