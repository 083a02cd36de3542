"""What publishing by a backfill does to others: to other intervals' files, and to the stream that runs beside it.

First, a backfill publishes one of a thousand intervals, and the log is asked which files of other intervals came or
went. Then the stream of `departures` runs at 500 records/s with a trigger of 5 seconds, and a backfill with one core
recomputes the weeks before, beside the stream and alone. The traffic is 30 times New York's, so that every batch closes
a few hours. All repeats have the same driver, whose first batches are not counted; the order alternates, and while the
backfill runs alone no records come.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pyarrow as pa
from deltalake import DeltaTable

from benchmarks.backfill.recompute import recompute, surroundings
from benchmarks.live_stream import LivePlace, LiveStream, Traffic, live_place
from benchmarks.trials import Cost, run_counted
from sluice.delta.reading import read_rows
from sluice.settings import StateFolder
from tests.oracle import COUNTS, departures, differences

_TRIAL_SECONDS = 600
_WARM_BATCHES = 30
"""Java goes on compiling what a driver runs for two minutes, and a stream runs for months."""
_SETTLING_BATCHES = 2
_START, _HOUR = datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1)
_THOUSAND_DAYS = 54  # have about a thousand hours with departures


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        copies: how often every flight occurs.
        days: from the first of January, that the backfill recomputes.
        rate: live records per second.
        quiet_seconds: how long the stream is watched without a backfill in each repeat.
        repeats: how often: an even number, half of them begin with the backfill.
    """

    copies: int
    days: int
    rate: int
    quiet_seconds: float
    repeats: int


SIZES = {
    "full": Size(copies=30, days=30, rate=500, quiet_seconds=60, repeats=6),
    "small": Size(copies=30, days=4, rate=500, quiet_seconds=20, repeats=1),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `foreign_files`, `live_ratio`, `backfill_ratio` and whether results are `equal`, and what is behind."""
    with tempfile.TemporaryDirectory(prefix="sluice-publish-") as place:
        touched = publish_one(Path(place) / "state")
        print(f"one of a thousand: {touched}", file=sys.stderr, flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="sluice-publish-") as place,
        live_place(Path(place), SIZES[size].copies) as live,
    ):
        bench = Beside(live, SIZES[size])
        repeats = bench.run()
        equal = not bench.differences()
    figures = {
        "equal": equal,
        "foreign_files": touched.pop("foreign_files"),
        "live_ratio": round(median(repeat["live_ratio"] for repeat in repeats), 3),
        "backfill_ratio": round(median(repeat["backfill_ratio"] for repeat in repeats), 3),
    }
    return figures, {"size": asdict(SIZES[size]), "one_interval": touched, "repeats": repeats}


def publish_one(state: Path) -> dict[str, int]:
    """Publish a thousand intervals, then one of them again; count the files that the second commit touched."""
    end = _START + timedelta(days=_THOUSAND_DAYS)
    what = [str(state), "1", f"{_START:%F}", f"{end:%F}", "2"]
    environment = {**os.environ, **surroundings(state)}  # noqa: TID251  a child inherits all of it
    subprocess.run([sys.executable, "-m", "benchmarks.raw_input", *what], env=environment, check=True)
    table = StateFolder(state).table("departures")
    run_counted(recompute(_START, end, key="all"), surroundings(state), timeout=_TRIAL_SECONDS)
    before = _files(table)
    intervals = sorted(set(before.values()))
    chosen = intervals[len(intervals) // 2]
    run_counted(recompute(chosen, chosen + _HOUR, key="one"), surroundings(state), timeout=_TRIAL_SECONDS)
    after = _files(table)
    touched = [(before | after)[path] for path in before.keys() ^ after.keys()]
    return {
        "intervals": len(intervals),
        "own_files": sum(interval == chosen for interval in touched),
        "foreign_files": sum(interval != chosen for interval in touched),
    }


def _files(table: Path) -> dict[str, datetime]:
    """Return the interval of each of the table's files, by name."""
    files = pa.table(DeltaTable(str(table)).get_add_actions(flatten=True))
    return dict(zip(files.column("path").to_pylist(), files.column("partition.hour").to_pylist(), strict=True))


class Beside:
    """Repeats of: the stream alone, the stream with a backfill, the backfill alone."""

    def __init__(self, place: LivePlace, size: Size) -> None:
        self._place = place
        self._size = size
        self._end = _START + timedelta(days=size.days)
        self._traffic = Traffic(place.bootstrap, size.copies, size.rate)
        self._backfills = 0

    def run(self) -> list[dict[str, Any]]:
        """Send and drain what is recomputed later, then measure beside one driver that has run for a while."""
        self._traffic.send_until(self._end + timedelta(days=1))
        self._place.drain()
        print(f"drained {self._traffic.sent} records", file=sys.stderr, flush=True)
        with self._place.stream(2) as stream:
            with self._traffic.flowing():
                stream.watch_batches(_WARM_BATCHES)
            return [self._repeat(stream, number) for number in range(self._size.repeats)]

    def differences(self) -> list[str]:
        """Compare what was recomputed with pandas' result."""
        expected = departures(f"{_START:%F}", f"{self._end:%F}")
        expected[COUNTS] *= self._size.copies
        table = read_rows(self._place.folder.table("departures")).to_pandas()
        end = pd.Timestamp(self._end)
        return differences(table[table["hour"] < end], expected[expected["hour"] < end])

    def _repeat(self, stream: LiveStream, number: int) -> dict[str, Any]:
        with self._traffic.flowing():
            stream.watch_batches(_SETTLING_BATCHES)
            if number % 2 == 0:
                quiet = self._quiet(stream)
                busy, beside = self._busy(stream)
            else:
                busy, beside = self._busy(stream)
                stream.watch_batches(_SETTLING_BATCHES)
                quiet = self._quiet(stream)
        alone = self._backfill()  # without traffic the stream runs no batch
        found = {
            "live_ratio": round(median(busy) / median(quiet), 3),
            "backfill_ratio": round(alone.wall / beside.wall, 3),
            "batch_seconds": {"alone": quiet, "with_backfill": busy},
            "backfill": {"alone": asdict(alone), "beside_stream": asdict(beside)},
        }
        print(found, file=sys.stderr, flush=True)
        return found

    def _quiet(self, stream: LiveStream) -> list[float]:
        end = time.monotonic() + self._size.quiet_seconds
        return stream.watch(lambda _: time.monotonic() >= end)

    def _busy(self, stream: LiveStream) -> tuple[list[float], Cost]:
        with ThreadPoolExecutor(1) as pool:
            backfill = pool.submit(self._backfill)
            batches = stream.watch(lambda _: backfill.done())
            return batches, backfill.result()

    def _backfill(self) -> Cost:
        self._backfills += 1
        command = recompute(_START, self._end, key=f"benchmark-{self._backfills}", home=self._place.one_core)
        state = surroundings(self._place.folder.root, self._place.one_core)
        return run_counted(command, state, timeout=_TRIAL_SECONDS)
