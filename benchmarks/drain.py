"""The stream `departures` over all flights of 2013, against a plain PySpark job with default settings.

Both drain the same topic in one uncapped `availableNow` run and write the same table, partitioned by hour. Session
start and the raw stream are excluded. Every trial is a fresh process, and the two alternate in ABBA order. The plain
job needs many minutes a trial (it writes a file per hour and shuffle partition), so a second pair runs only if there is
time for it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from deltalake import DeltaTable

from benchmarks.topics import private_topics, publish_flights
from sluice.delta.reading import read_rows
from sluice.settings import settings
from tests.oracle import departures, differences

_BUDGET_SECONDS = 36 * 60


def run() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures `equal`, `ratio_cpu` and `ratio_wall` (Sluice ÷ plain), and the trials behind them."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sluice-drain-") as place, private_topics(Path(place)) as topics:
        sent = publish_flights(topics.bootstrap, Path(place) / "feed")
        print(f"published {sent} records", file=sys.stderr, flush=True)
        folder, trials, equal, pair = Path(place), [], True, 0.0
        for order in (("sluice", "plain"), ("plain", "sluice")):
            if trials and time.monotonic() - began + pair > _BUDGET_SECONDS:
                break
            start = time.monotonic()
            found = {variant: _trial(variant, topics.bootstrap, topics.ids["flights"], folder) for variant in order}
            equal = equal and not any(cost.pop("differences") for cost in found.values())
            trials.append(found)
            pair = time.monotonic() - start
    figures = {"equal": equal, "ratio_cpu": _ratio(trials, "cpu"), "ratio_wall": _ratio(trials, "wall")}
    return {**figures, "pairs": len(trials)}, {"trials": trials}


def _ratio(trials: list[dict[str, dict[str, Any]]], cost: str) -> float:
    return round(median(trial["sluice"][cost] / trial["plain"][cost] for trial in trials), 3)


def _trial(variant: str, bootstrap: str, topic_id: str, folder: Path) -> dict[str, Any]:
    """Run one trial in a process of its own, compare its table with the oracle, and remove it."""
    place = folder / variant
    command = [sys.executable, "-m", "benchmarks.drain_trial", variant, bootstrap, topic_id, str(place)]
    paths = os.pathsep.join([str(settings().home), str(settings().home / "spark_jobs")])
    environment = {**os.environ, "PYTHONPATH": paths}  # noqa: TID251  a child inherits all of it
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    cost: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    table = DeltaTable(str(place / "table"))
    found = differences(read_rows(place / "table").to_pandas(), departures("2013-01-01", "2013-12-31"))
    cost |= {"files": len(table.file_uris()), "differences": found}
    shutil.rmtree(place)
    print(f"{variant}: {cost}", file=sys.stderr, flush=True)
    return cost
