"""The backfill of a year of `departures` from ten million raw records, against the same by hand, DuckDB and pandas.

The year's 336,776 flights occur 30 times each in their own hours, as if the airports had 30 times the traffic; making
the raw table is excluded. Ours is one whole process, `batch.py backfill --mode recompute`: plan, compute, compare,
stage, quality gate, publish, report. Its peers compute and write the same rows from the same table, and nothing else.
Every trial is a fresh process, its cost the CPU time of the whole process tree, Java's start included. A result counts
only if its table equals what pandas makes of the package's own file (`tests.oracle`), row by row.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.backfill.recompute import recompute, surroundings
from benchmarks.project_copy import dense_project
from benchmarks.trials import Cost, TrialError, abba, median_interval, run_counted
from sluice.delta.reading import read_rows
from sluice.settings import StateFolder, settings
from tests.oracle import COUNTS, departures, differences, package_file

_TRIAL_SECONDS = 1200
_SPARK = {"sluice", "pyspark", "pyspark_plain"}  # these find the output table waiting; the others make one
_FROM, _TO = datetime(2013, 1, 1, tzinfo=UTC), datetime(2014, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        copies: how often every flight occurs.
        first: the first local day.
        last: the last one.
        files: of the raw table.
        pairs: trials of ours and of the hand-written job.
        others: trials of each other peer.
    """

    copies: int
    first: str
    last: str
    files: int
    pairs: int
    others: int


SIZES = {
    "full": Size(30, "2013-01-01", "2013-12-31", files=24, pairs=5, others=1),
    "small": Size(2, "2013-01-01", "2013-01-31", files=4, pairs=1, others=1),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures `equal` and `ratio_*` (CPU-seconds of the peer ÷ ours), and the trials behind them."""
    with tempfile.TemporaryDirectory(prefix="sluice-backfill-") as place:
        bench = Bench(Path(place), SIZES[size])
        made = bench.make_input()
        bench.measure()
    ratios = [pair["pyspark"].cpu / pair["sluice"].cpu for pair in bench.pairs]
    figures: dict[str, Any] = {"equal": bench.equal, "ratio_pyspark": round(median(ratios), 3)}
    figures |= {f"ratio_{peer}": bench.ratio(peer) for peer in bench.others}
    notes: dict[str, Any] = {
        "size": asdict(SIZES[size]) | made,
        "ratio_pyspark_interval": [round(bound, 3) for bound in median_interval(ratios)],
        "pairs": len(ratios),
        "ratio_wall_pyspark": round(median(p["pyspark"].wall / p["sluice"].wall for p in bench.pairs), 3),
        "reasons": bench.reasons,
        "trials": [{name: asdict(cost) for name, cost in pair.items()} for pair in bench.pairs],
        "others": {peer: [asdict(cost) for cost in costs] for peer, costs in bench.others.items()},
    }
    return figures, notes


class Bench:
    """One run: the input in a folder, and the trials over it."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._folder = folder
        self._size = size
        self._project = dense_project(folder / "project", size.copies)
        self._expected = departures(size.first, size.last)
        self._expected[[*COUNTS, "delay_max_min"]] *= [*[size.copies] * len(COUNTS), 1]
        self.pairs: list[dict[str, Cost]] = []
        self.others: dict[str, list[Cost]] = {"duckdb": [], "pandas": [], "pyspark_plain": []}
        self.reasons: dict[str, str] = {}
        self.equal = True

    def make_input(self) -> dict[str, int]:
        """Make the raw table and the output table that waits; return how many records and bytes that is."""
        size = self._size
        what = [str(self._input.root), str(size.copies), size.first, size.last, str(size.files)]
        command = [sys.executable, "-m", "benchmarks.raw_input", *what]
        environment = {**os.environ, **surroundings(self._input.root)}  # noqa: TID251  a child inherits all of it
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        made: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
        return made

    def measure(self) -> None:
        """Run pairs of ours and the hand-written job, and the other peers between them."""
        for number, order in enumerate(abba("sluice", "pyspark", self._size.pairs)):
            self.pairs.append({variant: self._trial(variant) for variant in order})
            if number < self._size.others:
                self._measure_others()

    def ratio(self, peer: str) -> float | None:
        """Return the median CPU time of a peer ÷ that of ours; None if the peer could not be measured."""
        if not self.others[peer]:
            return None
        ours = median(pair["sluice"].cpu for pair in self.pairs)
        return round(median(cost.cpu for cost in self.others[peer]) / ours, 3)

    def _measure_others(self) -> None:
        for peer in self.others:
            if peer not in self.reasons:
                try:
                    self.others[peer].append(self._trial(peer))
                except TrialError as error:
                    self.reasons[peer] = str(error).strip().splitlines()[-1]

    def _trial(self, variant: str) -> Cost:
        """Run one program on a copy of the waiting table, compare what it wrote, and remove that."""
        place = StateFolder(self._folder / variant)
        place.tables.mkdir(parents=True)
        place.table("flights_raw").symlink_to(self._input.table("flights_raw"))
        command = _COMMANDS[variant](place, self._project)
        if variant in _SPARK:
            shutil.copytree(self._input.table("departures"), place.table("departures"))
        try:
            cost = run_counted(command, surroundings(place.root, self._project), timeout=_TRIAL_SECONDS)
            found = differences(read_rows(place.table("departures")).to_pandas(), self._expected)
        finally:
            shutil.rmtree(place.root)
        self.equal = self.equal and not found
        print(f"{variant}: {cost} {found[:3] or 'equal'}", file=sys.stderr, flush=True)
        return cost

    @property
    def _input(self) -> StateFolder:
        return StateFolder(self._folder / "input")


def _peer(module: str, *options: str) -> Callable[[StateFolder, Path], list[str]]:
    def command(place: StateFolder, _project: Path) -> list[str]:
        tables = [place.table("flights_raw"), package_file("airlines.csv"), place.table("departures")]
        return [sys.executable, "-m", f"benchmarks.backfill.{module}", *map(str, tables), *options]

    return command


_JARS = str(settings().jars / "spark")
_COMMANDS: Mapping[str, Callable[[StateFolder, Path], list[str]]] = {
    "sluice": lambda _, project: recompute(_FROM, _TO, key="benchmark", home=project),
    "pyspark": _peer("backfill_pyspark", _JARS, "once"),
    "pyspark_plain": _peer("backfill_pyspark", _JARS, "plain"),
    "duckdb": _peer("backfill_duckdb"),
    "pandas": _peer("backfill_pandas"),
}
