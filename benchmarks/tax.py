"""What Sluice's driver costs beside the same job written by hand, with the settings that an expert gives it.

The job: every record into a raw table, and departures per hour into a table partitioned by hour; read all there is, and
end. First one day is published, and the time from starting the driver to its first committed batch is compared; then
the year, and processor seconds of the whole process trees. Every trial is a fresh process; the two alternate.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.project_copy import dense_project, without_open_values
from benchmarks.topics import private_topics, publish_flights
from benchmarks.trials import Cost, abba, median_interval, run_counted
from sluice.delta.reading import read_rows
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder, settings
from sluice.specs.code.static import locate
from sluice.specs.load import load_catalog
from tests.oracle import departures, differences

_PAIRS = {"full": 9, "small": 1}
_DAYS = {"full": ("2013-01-01", "2013-12-31"), "small": ("2013-01-01", "2013-01-07")}
_TRIAL_SECONDS = 900


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `ratio_throughput` (CPU, by hand ÷ ours), `extra_start_s` (ours - by hand) and `equal` (all tables)."""
    with tempfile.TemporaryDirectory(prefix="sluice-tax-") as place, private_topics(Path(place)) as topics:
        bench = Bench(Path(place), topics.bootstrap)
        bench.publish("2013-01-01", "2013-01-01")
        starts = bench.pairs(_PAIRS[size])
        first, last = _DAYS[size]
        bench.publish("2013-01-02", last)
        drains = bench.pairs(_PAIRS[size], check=(first, last))
    ratios = [pair["by_hand"]["cpu"] / pair["sluice"]["cpu"] for pair in drains]
    waits = {name: median(pair[name]["first_commit"] for pair in starts) for name in ("sluice", "by_hand")}
    low, high = median_interval(ratios)
    figures = {
        "equal": all(pair[name]["equal"] for pair in drains for name in pair),
        "ratio_throughput": round(median(ratios), 3),
        "extra_start_s": round(waits["sluice"] - waits["by_hand"], 2),
    }
    notes = {"size": size, "interval": [round(low, 3), round(high, 3)], "first_commit_s": waits}
    return figures, {**notes, "starts": starts, "drains": drains}


class Bench:
    """A topic that is read again and again from its beginning."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self._folder = folder
        self._bootstrap = bootstrap
        self._project = without_open_values(dense_project(folder / "project", 1))
        include = settings().home / "include"
        self._airlines = locate(load_catalog(include).pipelines["departures"].static["airlines"], include)

    def publish(self, first: str, last: str) -> None:
        """Publish the flights of some days."""
        place = self._folder / f"feed-{first}"
        publish_flights(self._bootstrap, place, date.fromisoformat(first), date.fromisoformat(last))

    def pairs(self, count: int, *, check: tuple[str, str] | None = None) -> list[dict[str, dict[str, Any]]]:
        """Run both so many times; compare their tables with the oracle's if days are given."""
        found = []
        for order in abba("by_hand", "sluice", count):
            found.append({name: self._trial(name, check) for name in order})
            print(found[-1], file=sys.stderr, flush=True)
        return found

    def _trial(self, name: str, check: tuple[str, str] | None) -> dict[str, Any]:
        state = StateFolder(self._folder / "state")
        write_endpoints(state, Endpoints((self._bootstrap,), airflow_url=""))
        began = time.time()
        cost = self._ours(state.root) if name == "sluice" else self._by_hand(state.root)
        first = min(file.stat().st_mtime for file in state.root.glob("checkpoints/*/commits/0"))
        result = {**asdict(cost), "first_commit": round(first - began, 2)}
        if check is not None:
            rows = read_rows(state.table("departures")).to_pandas()
            result["equal"] = differences(rows, departures(*check)) == []
        shutil.rmtree(state.root)
        return result

    def _ours(self, state: Path) -> Cost:
        main = str(self._project / "spark_jobs" / "stream.py")
        command = [sys.executable, main, "--unit", "flights", "--generation", "1", "--available-now"]
        return run_counted(command, self._surroundings(state), timeout=_TRIAL_SECONDS)

    def _by_hand(self, state: Path) -> Cost:
        command = [sys.executable, "-m", "benchmarks.tax_peer", self._bootstrap, str(state), str(self._airlines)]
        return run_counted(command, self._surroundings(state), timeout=_TRIAL_SECONDS)

    def _surroundings(self, state: Path) -> dict[str, str]:
        paths = os.pathsep.join([str(settings().home), str(self._project / "spark_jobs")])
        return {"PYTHONPATH": paths, "SLUICE_STATE": str(state), "SLUICE_HOME": str(self._project)}
