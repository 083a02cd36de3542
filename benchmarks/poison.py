"""What one record of the year 2100 among 10,000 sound ones costs: refused, believed under a huge skew, and healed.

`refused`: the shipped rules; such records come first, in the middle and last, and as a heartbeat. `believed`: the spec
allows clocks to be a hundred years ahead, and the settler holds their arrival times back. `confirmed`: a person lets
them count, so every interval until then is settled. `healed`: the same state folder with the shipped rules again, after
`sluice streams heal`, a run of the stream and the repairs of what was dirty.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
from kafka import KafkaProducer

from benchmarks.backfill.recompute import PIPELINE, surroundings
from benchmarks.project_copy import copied_project
from benchmarks.topics import private_topics
from benchmarks.trials import Cost, TrialError, run_counted
from sluice.delta.reading import read_rows
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder
from tests.integration.spark.conftest import values_of
from tests.oracle import COUNTS, departures, differences, flights

_DAYS = {"full": ("2013-01-01", "2013-01-12"), "small": ("2013-01-01", "2013-01-02")}
_LISTS = {"full": 5, "small": 1}
_AT_A_TIME = {"full": 2000, "small": 300}
"""Records of a batch: a sound one has to come after the poisoned one."""
_SKEW = "36000 days"
_SECONDS = 1200.0
_FAR, _FURTHER = "2100-01-01T10:30:00Z", "2101-06-01T10:30:00Z"


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `rows_stored`, `list_s` and `late_after`, the worst of the four cases, and what each case gave."""
    with tempfile.TemporaryDirectory(prefix="sluice-poison-") as root:
        refused = _refused(Path(root) / "refused", size)
        believed, confirmed, healed = _believed_and_healed(Path(root) / "believed", size)
    cases = {"refused": refused, "believed": believed, "confirmed": confirmed, "healed": healed}
    figures = {
        "rows_stored": max(case["rows_stored"] for case in cases.values()),
        "list_s": max(case["list_s"] for case in cases.values()),
        "list_cpu_s": max(case["list_cpu_s"] for case in cases.values()),
        "late_after": max(case["late_after"] for case in cases.values()),
        "equal": not any(case["differences"] for name, case in cases.items() if name != "confirmed"),
    }
    return figures, {"size": size, "cases": cases}


def _refused(root: Path, size: str) -> dict[str, Any]:
    with private_topics(root) as topics:
        bench = Bench(root, topics.bootstrap, size)
        sound = bench.sound()
        half = len(sound) // 2
        bench.send([_future(_FAR), *sound[:half], _future(_FAR), _heartbeat(_FURTHER), *sound[half:], _future(_FAR)])
        bench.send([_heartbeat(bench.end)])
        bench.drain(1)
        return {**bench.inspect(), "quarantined": bench.quarantined()}


def _believed_and_healed(root: Path, size: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Let validation believe such records; the settler does not, until a person says so, and a person heals that."""
    with private_topics(root) as topics:
        bench = Bench(root, topics.bootstrap, size)
        rules = bench.spec.read_text(encoding="utf-8")
        bench.spec.write_text(rules.replace("time:\n", f"time:\n  clock_skew: {_SKEW}\n"), encoding="utf-8")
        sound = bench.sound()
        half = len(sound) // 2
        bench.send([*sound[:half], _future(_FAR), *sound[half:], _future(_FURTHER)])
        bench.send([_heartbeat(bench.end)])
        bench.drain(1)
        believed = bench.inspect()
        bench.confirm()
        bench.send([_heartbeat(bench.end)])
        bench.drain(2)
        confirmed = bench.inspect()
        bench.spec.write_text(rules, encoding="utf-8")
        healed = {"heal": bench.heal()}
        bench.drain(3)
        healed |= {"after_the_stream": bench.inspect(), "repaired": bench.repair()}
        return believed, confirmed, {**bench.inspect(), **healed}


def _future(at: str) -> dict[str, object]:
    value = {"flight_id": 999_999, "carrier": "AA", "flight": 1, "origin": "JFK", "dest": "LAX", "cancelled": False}
    return {**value, "scheduled_at": at, "observed_at": at, "departed_at": at, "dep_delay_min": 0}


def _heartbeat(at: str) -> dict[str, object]:
    return {"heartbeat": True, "scheduled_at": at, "observed_at": at}


@dataclass(frozen=True)
class Bench:
    """A broker, a copy of the project whose batches are small, and a state folder."""

    root: Path
    bootstrap: str
    size: str

    def __post_init__(self) -> None:
        copied_project(self.root / "project", "include", "spark_jobs")
        write_endpoints(StateFolder(self.root / "state"), Endpoints((self.bootstrap,), airflow_url=""))
        text = self.spec.read_text(encoding="utf-8")
        self.spec.write_text(f"{text}max_records_per_batch: {_AT_A_TIME[self.size]}\n", encoding="utf-8")

    @property
    def spec(self) -> Path:
        """The pipeline's."""
        return self.root / "project" / "include" / "pipelines" / f"{PIPELINE}.yaml"

    @property
    def end(self) -> str:
        """A time that closes everything."""
        last = flights(*_DAYS[self.size])["hour_utc"].max() + pd.Timedelta(hours=5)
        return str(last.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def sound(self) -> list[dict[str, object]]:
        """Return the flights in the order in which they became known."""
        return values_of(flights(*_DAYS[self.size]))

    def send(self, values: Sequence[Mapping[str, object]]) -> None:
        """Send values to partition 0, so that they stay in order."""
        with closing(KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=20)) as producer:
            for value in values:
                producer.send("flights", value=json.dumps(value).encode(), partition=0)
            producer.flush()

    def drain(self, generation: int) -> None:
        """Let a driver read all there is."""
        main = self.root / "project" / "spark_jobs" / "stream.py"
        options = ["--unit", "flights", "--generation", str(generation), "--available-now"]
        self._run(sys.executable, str(main), *options)

    def inspect(self) -> dict[str, Any]:
        """Return what is stored, what the list costs, and what the table lacks."""
        costs = [self._listed() for _ in range(_LISTS[self.size])]
        table, expected = read_rows(self._folder.table(PIPELINE)).to_pandas(), departures(*_DAYS[self.size])
        records = [int(rows[COUNTS[0]].sum() + rows[COUNTS[1]].sum()) for rows in (expected, table)]
        found = {
            "rows_stored": self._rows_stored(),
            "control_mb": round(self._folder.control.stat().st_size / 1e6, 2),
            "list_s": round(median(cost.wall for cost in costs), 2),
            "list_cpu_s": round(median(cost.cpu for cost in costs), 2),
            "late_after": max(0, records[0] - records[1]),
            "differences": len(differences(table, expected)),
            "lists": [asdict(cost) for cost in costs],
        }
        print(f"{self.root.name}: {found}", file=sys.stderr, flush=True)
        return found

    def quarantined(self) -> list[dict[str, Any]]:
        """Return how many records today's rules refuse, by day and reason."""
        return list(json.loads(self._sluice("quarantine", "list", PIPELINE, "-o", "json"))["counts"])

    def confirm(self) -> None:
        """Let the times of 2100 count, as a person does who errs."""
        self._sluice("intervals", "advance", PIPELINE, "--confirm", "2102-01-01", "--why", "an error", "--yes")

    def heal(self) -> Mapping[str, Any]:
        """Stop the unit on record and heal it, as a person does."""
        self._sluice("streams", "stop", "flights", "--why", "to heal it")
        said = self._sluice("streams", "heal", "flights", "--why", "one record of 2100", "--yes", "-o", "json")
        return dict(json.loads(said))

    def repair(self) -> list[str]:
        """Recompute what is dirty, range by range, as the DAG does; return the first interval of each range."""
        repaired: list[str] = []
        while dirty := self._dirty():
            first = dirty[0]["from"]
            last = next(row["to"] for row in reversed(dirty) if row["from"] < "2013-12" or row is dirty[0])
            if first in repaired:
                raise TrialError(f"the interval of {first} is dirty after its repair: {dirty[0]['dirty']}")
            asked = ["--mode", "recompute", "--only", "dirty", "--from", first, "--to", last]
            self._sluice("backfill", "run", PIPELINE, *asked)
            repaired.append(first)
        return repaired

    def _dirty(self) -> list[dict[str, Any]]:
        said = self._sluice("intervals", "list", PIPELINE, "--state", "dirty", "-o", "json")
        return list(json.loads(said)[PIPELINE]["intervals"])

    def _listed(self) -> Cost:
        command = [*_SLUICE, "intervals", "list"]
        return run_counted(command, surroundings(self.root / "state", self.root / "project"), timeout=_SECONDS)

    def _rows_stored(self) -> int:
        with closing(sqlite3.connect(self._folder.control)) as database:
            return int(database.execute("SELECT count(*) FROM interval").fetchone()[0])

    @property
    def _folder(self) -> StateFolder:
        return StateFolder(self.root / "state")

    def _sluice(self, *arguments: str) -> str:
        return self._run(*_SLUICE, *arguments)

    def _run(self, *command: str) -> str:
        own = {**surroundings(self.root / "state", self.root / "project"), "SLUICE_BATCH_NICENESS": "0"}
        environment = {**os.environ, **own}  # noqa: TID251  a child inherits all of it
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS)
        if done.returncode:
            raise TrialError(
                f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-3000:]}{done.stdout[-500:]}"
            )
        return done.stdout


_SLUICE = (str(Path(sys.executable).with_name("sluice")),)
"""The command as people run it."""
