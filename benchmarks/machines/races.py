"""Two writers race for the versions of one table in a bucket whose answers are refused, lost and late.

Each writer is a process that appends through `WriterLog`, as the driver of a raw stream does. A writer whose commit
failed for another reason than a quicker one does what a driver does that is started again: it opens the log under a new
generation, and goes on behind the last commit that it finds there. Then two processes race for the names of small
objects, as two resets do.

`races_lost`: rows that were committed and are not in the table, and names that have no winner, or not the one that was
told so. `twice`: rows that are there more than once, and names with two winners. `raced`: commits that had to be made
again because the other writer, or their own unanswered request, was quicker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from deltalake import Schema

from benchmarks.machines.race_writer import SCHEMA
from benchmarks.trials import TrialError
from sluice.delta.reading import dataset_of, open_table
from sluice.delta.table import ensure_table
from sluice.storage.bucket_folder import BucketFolder, forget_stores
from sluice.storage.objects import objects_in
from tests.buckets import BucketServer, bucket_server

_WRITERS = ("one", "two")
_FAULTS = (
    {"kind": "refuse", "contains": "_delta_log", "share": 0.03},
    {"kind": "lose", "contains": "_delta_log", "share": 0.05},
    {"kind": "fail", "contains": "_delta_log", "share": 0.05},
    {"kind": "lose", "contains": "epochs", "share": 0.1},
    {"kind": "fail", "contains": "epochs", "share": 0.1},
    {"kind": "slow", "method": "GET", "contains": "list-type", "share": 0.02, "seconds": 0.3},
)
_LIMIT_SECONDS = 3_000


@dataclass(frozen=True)
class Size:
    """How much is raced for.

    Attributes:
        commits: of each writer, in a bucket with faults.
        quiet: the same in one without.
        names: of small objects, in each bucket.
    """

    commits: int
    quiet: int
    names: int


_SIZES = {"full": Size(500, 100, 300), "small": Size(15, 15, 10)}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what was lost and doubled in a bucket with faults, and in one without."""
    chosen = _SIZES[size]
    with bucket_server() as server:
        os.environ.update(server.variables)  # noqa: TID251  the clients of S3 read nothing else
        forget_stores()
        quiet, _ = _race(server, chosen.quiet, chosen.names)
        server.make_faults(*_FAULTS)
        faulty, notes = _race(server, chosen.commits, chosen.names)
        made = server.faults_made()
    both = {name: quiet[name] + faulty[name] for name in ("commits", "races_lost", "twice")}
    figures = {**both, "raced": faulty["raced"], "raced_without_faults": quiet["raced"]}
    return figures, {"size": size, "faults": made, "quiet": quiet, "faulty": faulty, **notes}


def _race(server: BucketServer, commits: int, names: int) -> tuple[dict[str, Any], dict[str, Any]]:
    bucket = server.new_bucket() / "sluice"
    table, began = bucket / "tables" / "raced", time.monotonic()
    ensure_table(table, Schema.from_arrow(SCHEMA).to_json())
    told = _told("commit", str(table), commits)
    seconds = time.monotonic() - began
    server_rows = dataset_of(table).to_table().to_pylist()
    rows = Counter((row["who"], row["n"]) for row in server_rows)
    wanted = {(who, number) for who in _WRITERS for number in range(commits)}
    won = _told("put", str(bucket / "epochs"), names)
    lost_names, double_names = _judged(bucket / "epochs", won, names)
    figures = {
        "commits": len(rows),
        "races_lost": len(wanted - rows.keys()) + lost_names,
        "twice": sum(rows.values()) - len(rows) + double_names,
        "raced": sum(each["again"] for each in told),
        "names": names,
    }
    return figures, {
        "seconds": round(seconds, 1),
        "version": open_table(table).version(),
        "restarts": sum(each["restarts"] for each in told),
        "why": dict(sum((Counter(each["why"]) for each in told), Counter())),
    }


def _judged(folder: BucketFolder, won: list[dict[str, Any]], names: int) -> tuple[int, int]:
    """Return how many names have no winner or another than was told so, and how many have two."""
    objects, lost, double = objects_in(folder), 0, 0
    for number in range(names):
        winners = [who for who, told in zip(_WRITERS, won, strict=True) if number in told["won"]]
        held = objects.read(f"{number}.json")
        double += len(winners) > 1
        lost += not winners or held != winners[0].encode()
    return lost, double


def _told(what: str, place: str, count: int) -> list[dict[str, Any]]:
    """Run both writers at once, and return what each of them says at its end."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.machines.race_writer", what, place, who, str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in _WRITERS
    ]
    try:
        outputs = [process.communicate(timeout=_LIMIT_SECONDS)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    if codes := [process.returncode for process in processes if process.returncode]:
        raise TrialError(f"a writer ended with {codes[0]}")
    return [json.loads(output.splitlines()[-1]) for output in outputs]
