"""What it costs to drain a topic into a settled table: against the append engine of before, and tuned PySpark.

Whole drivers drain a year of flights and two million ad events, a fresh process each, interleaved. `settle` is this
code, `append` the last commit that had the append engine, in a worktree of its own; both write the raw table, too.
`by_hand` is PySpark with tuned settings, without a raw table. Each driver runs once more with nothing to read, and that
cost of a start is taken off. Every table is compared with an oracle first. The benchmark `shapes` follows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from benchmarks import shapes
from benchmarks.backfill.recompute import surroundings
from benchmarks.draining import ads
from benchmarks.draining.drivers import TRIAL_SECONDS, Code, drain, this_code
from benchmarks.project_copy import copied_project, without_open_values
from benchmarks.topics import private_topics, publish_flights
from benchmarks.trials import Cost, run_counted
from sluice.delta.reading import read_rows
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder, settings
from tests.oracle import departures, differences

_APPEND_ENGINE = "7e40e97"
"""The last commit with the append engine."""
_REPEATS = {"full": 3, "small": 1}
_DAYS = {"full": ("2013-01-01", "2013-12-31"), "small": ("2013-01-01", "2013-01-07")}
_EVENTS = {"full": 2_000_000, "small": 50_000}


@dataclass(frozen=True)
class Workload:
    """A topic and what is made of it.

    Attributes:
        home: the project.
        unit: of its streams.
        table: that it fills.
        publish: fills the topic of a broker.
        wrong: counts the rows of the table that are wrong.
        by_hand: module and last argument of the hand-written peer; empty: there is none.
    """

    home: Path
    unit: str
    table: str
    publish: Callable[[str], object]
    wrong: Callable[[pd.DataFrame], int]
    by_hand: tuple[str, ...] = ()

    @property
    def variants(self) -> tuple[str, ...]:
        """What is compared."""
        return ("settle", "append", *(["by_hand"] if self.by_hand else []))


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `equal`, `ratio_append` and `ratio_append_ads` (CPU, settle ÷ append), `ratio_tuned` (settle ÷ by hand).

    `small_settle_s` is what one settled interval takes in a warm session, `bytes_read_ratio` what settling everything
    reads there, as a multiple of the raw table; the figures of `shapes` follow.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-settling-") as folder, _append_engine() as append:
        place = Path(folder)
        flights = Bench(_flights(place / "flights", size), place, append).run(_REPEATS[size])
        events = Bench(_ads(place / "ads", size), place, append).run(_REPEATS[size])
    of_shapes, notes = shapes.run(size)
    figures = {
        "equal": all(trial["wrong"] == 0 for found in (flights, events) for each in found for trial in each.values()),
        "ratio_append": _ratio(flights, "append"),
        "ratio_append_ads": _ratio(events, "append"),
        "ratio_tuned": _ratio(events, "by_hand"),
        **{
            name: round(median(each["settle"][name] for each in flights), 3)
            for name in ("small_settle_s", "small_settle_cpu")
        },
        "bytes_read_ratio": max(each["settle"]["bytes_read_ratio"] for found in (flights, events) for each in found),
    }
    return {**figures, **of_shapes}, {**notes, "flights": flights, "ads": events}


def _ratio(found: Sequence[dict[str, Any]], peer: str) -> float:
    return round(median(each["settle"]["cpu"] / each[peer]["cpu"] for each in found), 3)


def _flights(folder: Path, size: str) -> Workload:
    home = without_open_values(copied_project(folder / "project", "include", "spark_jobs"))
    first, last = _DAYS[size]

    def publish(bootstrap: str) -> None:
        publish_flights(bootstrap, folder / "feed", date.fromisoformat(first), date.fromisoformat(last))

    return Workload(
        home, "flights", "departures", publish, lambda rows: len(differences(rows, departures(first, last)))
    )


def _ads(folder: Path, size: str) -> Workload:
    ads.write_project(folder / "project")
    count, campaigns = _EVENTS[size], str(folder / "project" / "include" / "campaigns.csv")
    return Workload(
        folder / "project",
        "ads",
        "ads",
        lambda bootstrap: ads.publish(bootstrap, count),
        lambda rows: ads.differences(rows, count),
        ("benchmarks.draining.ads_by_hand", campaigns),
    )


@contextmanager
def _append_engine() -> Iterator[Code]:
    """Check out the code of before."""
    with tempfile.TemporaryDirectory(prefix="sluice-append-") as folder:
        root, git = Path(folder) / "code", ["git", "-C", str(settings().home), "worktree"]
        subprocess.run([*git, "add", "--detach", str(root), _APPEND_ENGINE], check=True, capture_output=True)
        try:
            yield Code(_interpreter(root), root)
        finally:
            subprocess.run([*git, "remove", "--force", str(root)], check=True, capture_output=True)


def _interpreter(root: Path) -> str:
    locks = ("requirements/lock.txt", "include/sluice/jars/jars.sha256")
    if all((root / lock).read_bytes() == (settings().home / lock).read_bytes() for lock in locks):
        return sys.executable
    subprocess.run(["make", "-C", str(root), "setup"], check=True, stdout=sys.stderr)
    return str(root / ".venv" / "bin" / "python")


class Bench:
    """Trials of one workload over one topic.

    Args:
        workload: which.
        folder: for brokers and state.
        append: the code with the append engine.
    """

    def __init__(self, workload: Workload, folder: Path, append: Code) -> None:
        self._workload = workload
        self._folder = folder
        self._append = append

    def run(self, repeats: int) -> list[dict[str, Any]]:
        """Run every variant so many times; the one that went first goes last in the next round."""
        work, found = self._workload, []
        with private_topics(self._folder / work.unit / "broker", work.home / "include") as topics:
            work.publish(topics.bootstrap)
            for number in range(repeats):
                order = work.variants if number % 2 == 0 else work.variants[::-1]
                found.append({variant: self._trial(variant, topics.bootstrap) for variant in order})
                print(work.unit, found[-1], file=sys.stderr, flush=True)
        return found

    def _trial(self, variant: str, bootstrap: str) -> dict[str, Any]:
        state = StateFolder(self._folder / "state")
        write_endpoints(state, Endpoints((bootstrap,), airflow_url=""))
        costs = [self._drain(variant, bootstrap, state, generation) for generation in (1, 2)]
        rows = read_rows(state.table(self._workload.table)).to_pandas()
        result = {
            "cpu": round(costs[0].cpu - costs[1].cpu, 2),
            "wall": round(costs[0].wall - costs[1].wall, 2),
            "start_cpu": costs[1].cpu,
            "load": costs[0].load,
            "wrong": self._workload.wrong(rows),
        }
        if variant == "settle":
            result |= self._small_settlement(state)
        shutil.rmtree(state.root)
        return result

    def _drain(self, variant: str, bootstrap: str, state: StateFolder, generation: int) -> Cost:
        work, code = self._workload, self._append if variant == "append" else this_code()
        if variant != "by_hand":
            return drain(work.home, work.unit, state, generation, code)
        module, argument = work.by_hand
        command = [sys.executable, "-m", module, bootstrap, str(state.root), argument]
        return run_counted(command, surroundings(state.root, work.home, code.root), timeout=TRIAL_SECONDS)

    def _small_settlement(self, state: StateFolder) -> dict[str, float]:
        command = [sys.executable, "-m", "benchmarks.draining.small_settlement", self._workload.table]
        variables = {**os.environ, **surroundings(state.root, self._workload.home)}  # noqa: TID251  a child inherits it
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
        cost: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return cost
