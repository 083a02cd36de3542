"""What a transform in SQL costs, as a multiple of the same one in Python.

Whole drivers drain two million ad events, a fresh process each, interleaved; both write the raw table, too. Each runs
once more with nothing to read, and that cost of a start is taken off. Every table is compared with an oracle first.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.draining import ads
from benchmarks.draining.drivers import drain, this_code
from benchmarks.topics import private_topics
from sluice.delta.reading import read_rows
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder

_REPEATS = {"full": 3, "small": 1}
_EVENTS = {"full": 2_000_000, "small": 50_000}
_LANGUAGES = ("python", "sql")


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `ratio_python` (CPU, SQL ÷ Python) and `wrong_rows` of both."""
    count, trials = _EVENTS[size], list[dict[str, dict[str, float]]]()
    with tempfile.TemporaryDirectory(prefix="sluice-sql-") as folder:
        homes = {language: Path(folder) / language for language in _LANGUAGES}
        for language, home in homes.items():
            ads.write_project(home, sql=language == "sql")
        with private_topics(Path(folder) / "broker", homes["python"] / "include") as topics:
            ads.publish(topics.bootstrap, count)
            for number in range(_REPEATS[size]):
                order = _LANGUAGES if number % 2 == 0 else _LANGUAGES[::-1]
                trials.append({language: _trial(homes[language], topics.bootstrap, count) for language in order})
                print(trials[-1], file=sys.stderr, flush=True)
    ratio = median(trial["sql"]["cpu"] / trial["python"]["cpu"] for trial in trials)
    wrong = sum(int(each["wrong"]) for trial in trials for each in trial.values())
    return {"ratio_python": round(ratio, 3), "wrong_rows": wrong}, {"events": count, "trials": trials}


def _trial(home: Path, bootstrap: str, count: int) -> dict[str, float]:
    state = StateFolder(home / "state")
    write_endpoints(state, Endpoints((bootstrap,), airflow_url=""))
    drained, started = (drain(home, "ads", state, generation, this_code()) for generation in (1, 2))
    wrong = ads.differences(read_rows(state.table("ads")).to_pandas(), count)
    shutil.rmtree(state.root)
    return {
        "cpu": round(drained.cpu - started.cpu, 2),
        "wall": round(drained.wall - started.wall, 2),
        "start_cpu": started.cpu,
        "load": drained.load,
        "wrong": wrong,
    }
