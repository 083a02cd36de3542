"""What Airflow's DAG processor pays for 1,000 pipelines, against as many bare DAGs with as many tasks.

Both are parsed and serialised file by file, each file in a process of its own, in ABBA order. `ratio_bare` is the CPU
time of all files of `dags/`, parse and serialisation, ÷ that of one file of bare DAGs; the two parts are in the notes.

* Excluded on both sides is what the processor does once, before it forks for a file: starting Python, importing
  Airflow, freezing the collector's heap. Everything a file imports beside that is included, for every file again.
* The bare DAGs are as many, with as many `@task` in all, and nothing else: no schedule, form, text, tag or callback.
* Python may keep its bytecode, and one round of ours and of the bare file warms that and the memo of the specs up, as
  in a processor that comes by every half a minute. `cold` in the notes is ours without either.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.project_copy import copied_project
from benchmarks.trials import abba, median_interval
from sluice.settings import settings

_PAIRS = {"full": 5, "small": 1}
_PIPELINES = {"full": 1000, "small": 50}

_BARE = """
from airflow.sdk import DAG, task


@task
def work(step: int) -> int:
    return step


for name, steps in {shapes}:
    with DAG(name, schedule=None) as dag:
        last = None
        for step in range(steps):
            done = work.override(task_id=f"step_{{step}}")(step)
            if last is not None:
                last >> done
            last = done
    globals()[name] = dag
"""


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `ratio_bare` (ours ÷ bare, CPU) and `imports_pyspark`."""
    with tempfile.TemporaryDirectory(prefix="sluice-parse-") as place:
        home, bare = _project(Path(place) / "project", _PIPELINES[size]), Path(place) / "bare"
        (home.parent / "state").mkdir()
        first = _parsed(sorted((home / "dags").glob("*.py")), home)
        bare.mkdir()
        (bare / "bare.py").write_text(_BARE.format(shapes=_shapes(first)), encoding="utf-8")
        folders = {"ours": home / "dags", "bare": bare}
        _parsed([bare / "bare.py"], home)
        pairs = []
        for order in abba("ours", "bare", _PAIRS[size]):
            pairs.append({name: _parsed(sorted(folders[name].glob("*.py")), home) for name in order})
            print(pairs[-1], file=sys.stderr, flush=True)
        ratios = [_cpu(pair["ours"]) / _cpu(pair["bare"]) for pair in pairs]
        equal = all(_count(p["ours"], what) == _count(p["bare"], what) for p in pairs for what in ("dags", "tasks"))
        imported = sorted({module for pair in pairs for file in pair["ours"] for module in file["imports"]})
        figures = {
            "ratio_bare": round(median(ratios), 3),
            "imports_pyspark": "pyspark" in imported,
            "equal": equal,
            "dags": _count(first, "dags"),
            "tasks": _count(first, "tasks"),
        }
        low, high = median_interval(ratios)
        notes = {
            "interval": [round(low, 3), round(high, 3)],
            "ratio_parse": round(median(_cpu(p["ours"], "parse") / _cpu(p["bare"], "parse") for p in pairs), 3),
            "ratio_serialize": round(
                median(_cpu(p["ours"], "serialize") / _cpu(p["bare"], "serialize") for p in pairs), 3
            ),
            "cold": first,
        }
        return figures, {"size": size, **notes, "imports": imported, "pairs": pairs}


def _project(home: Path, pipelines: int) -> Path:
    """Copy this project and write `departures` and its suite so many times, each with a driver of its own."""
    copied_project(home, "dags", "include", "spark_jobs", "plugins")
    spec = (home / "include" / "pipelines" / "departures.yaml").read_text(encoding="utf-8")
    suite = (home / "include" / "expectations" / "departures.yaml").read_text(encoding="utf-8")
    for number in range(1, pipelines):
        name = f"departures_{number}"
        own = re.sub(r"^driver: \w+", f"driver: {name}", spec, flags=re.MULTILINE)
        (home / "include" / "pipelines" / f"{name}.yaml").write_text(_renamed(own, name), encoding="utf-8")
        (home / "include" / "expectations" / f"{name}.yaml").write_text(_renamed(suite, name), encoding="utf-8")
    return home


def _renamed(text: str, name: str) -> str:
    """Give a spec another name, and its tables too; the transform stays."""
    return re.sub(r"(?<![:\w])departures(_\w+)?\b(?!:)", lambda found: name + (found.group(1) or ""), text)


def _parsed(files: list[Path], home: Path) -> list[dict[str, Any]]:
    """Parse files one by one, each in a process of its own."""
    inherited = os.environ  # noqa: TID251  a child inherits all of it
    state = home.parent / "state"
    environment = {
        **{name: value for name, value in inherited.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPYCACHEPREFIX": str(home.parent / "bytecode"),
        "SLUICE_HOME": str(home),
        "SLUICE_STATE": str(state),
        "AIRFLOW_HOME": str(state),
    }
    results = []
    for file in files:
        command = [sys.executable, "-m", "benchmarks.records.parse_trial", str(file)]
        done = subprocess.run(command, env=environment, cwd=settings().home, capture_output=True, text=True, check=True)
        results.append({"file": file.name, **json.loads(done.stdout.splitlines()[-1])})
    return results


def _shapes(results: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return as many DAGs, with as many tasks in all, as were found."""
    dags, tasks = _count(results, "dags"), _count(results, "tasks")
    return [(f"bare_{number}", tasks // dags + (number < tasks % dags)) for number in range(dags)]


def _cpu(results: list[dict[str, Any]], *parts: str) -> float:
    return sum(float(found[part]) for found in results for part in parts or ("parse", "serialize"))


def _count(results: list[dict[str, Any]], what: str) -> int:
    return sum(int(found[what]) for found in results)
