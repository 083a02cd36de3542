"""What validation costs beside decoding alone: strict bytes, required fields, domains and times, record by record.

Flights, each many times in its own minute, with broken records of six kinds among them, are read from a file by a warm
session, decoded or validated, and thrown away. `ratio_decode` is the CPU time of our whole validation ÷ that of Spark's
`from_json` with the same schema and nothing behind it; `ratio_strict` that of our strict decoder alone ÷ the same.
Every trial is a fresh process whose start and first pass are not counted: they would hide the difference. Before that,
each record that is not refused must decode to the same values both ways, and outcomes and reasons must be as many as
the records were made with. `admission candidates` also measures what the decoder was chosen from.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.dense_flights import BROKEN_AS, BROKEN_EVERY, lines
from benchmarks.raw_input import write_lines
from benchmarks.records.admission_trial import CANDIDATES, PIPELINE, VARIANTS
from benchmarks.trials import median_interval
from sluice.feeds.heartbeat import heartbeat_times
from sluice.feeds.nycflights13 import Nycflights13
from sluice.settings import settings
from sluice.specs.load import load_catalog


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        last: the last local day of flights; the first is 2013-01-01.
        copies: how often every flight occurs.
        rounds: trials of each variant.
        passes: over the records in one trial, counted.
        variants: what is measured.
    """

    last: date
    copies: int
    rounds: int
    passes: int
    variants: tuple[str, ...] = VARIANTS


SIZES = {
    "full": Size(date(2013, 3, 31), copies=20, rounds=5, passes=3),
    "candidates": Size(date(2013, 3, 31), copies=8, rounds=3, passes=2, variants=VARIANTS + CANDIDATES),
    "small": Size(date(2013, 1, 7), copies=2, rounds=1, passes=1),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `ratio_decode`, `ratio_strict` (ours ÷ `from_json`, CPU), and whether all results are `equal`."""
    what = SIZES[size]
    with tempfile.TemporaryDirectory(prefix="sluice-admission-") as place:
        folder = Path(place)
        expected = _write_records(folder / "lines", what)
        made = _trial("make", folder, str(what.copies), str(expected.pop("flights")))
        found = _trial("check", folder)
        equal = found.pop("different") == 0 and found["outcomes"] == expected
        rounds = []
        for number in range(what.rounds):
            order = what.variants if number % 2 == 0 else what.variants[::-1]
            rounds.append({name: _trial(name, folder, str(what.passes))["cpu"] for name in order})
            print(rounds[-1], file=sys.stderr, flush=True)
    ratios = {v: [one[v] / one["decode"] for one in rounds] for v in what.variants if v != "decode"}
    figures = {
        "ratio_decode": round(median(ratios["validate"]), 3),
        "ratio_strict": round(median(ratios["strict"]), 3),
        "equal": equal,
        "records": made["records"],
    }
    intervals = {name: [round(end, 3) for end in median_interval(values)] for name, values in ratios.items()}
    medians = {name: round(median(values), 3) for name, values in ratios.items()}
    notes = {"size": size, "ratios": medians, "intervals": intervals, "rounds": rounds}
    return figures, {**notes, "expected": expected, "found": found["outcomes"]}


def _write_records(folder: Path, what: Size) -> dict[str, int]:
    """Write one copy of all records; return how many of each outcome or reason all copies have, and of flights."""
    catalog = load_catalog(settings().home / "include")
    pipeline = catalog.pipelines[PIPELINE]
    topic, source = catalog.topics[pipeline.topics[0]], Nycflights13.load()
    first, time = date(2013, 1, 1), pipeline.time_of(topic.name)
    flights = list(source.records(first, what.last))
    last_event = source.last_event(first, what.last)
    assert last_event is not None
    closing = heartbeat_times(last_event, topic.name, [pipeline])[-1]
    write_lines(lines(flights, topic, closing), folder, files=4)
    late = sum(flight.arrival - flight.event > time.allowed_lateness for flight in flights)
    broken = Counter(BROKEN_AS[n % len(BROKEN_AS)] for n in range(-(-len(flights) // BROKEN_EVERY)))
    counts = {"good": len(flights) - late, "late": late, "control": 1, **broken}
    return {name: count * what.copies for name, count in counts.items() if count} | {"flights": len(flights)}


def _trial(variant: str, folder: Path, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.records.admission_trial", variant, str(folder), *more]
    done = subprocess.run(command, cwd=settings().home, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
