"""How long a person waits: the demo, a day verified from the terminal and in Airflow, a week computed again.

`demo_cold_s`: `sluice demo` from nothing, after `make setup`; `demo_warm_s`: the same less the start of its stack.
`verify_day_cli_s`: `sluice backfill run … --mode verify` of a day of flights, from the command to its prompt.
`verify_day_airflow_s`: the same by a run of its DAG, from the trigger until the run has succeeded.
`correct_week_s`: a week's 163 intervals computed, compared, gated and published again from the terminal.

All but the demo: medians; the first one of each is left out, because the warm engine starts with it. The notes have
every time, and how often the engine was used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.project_copy import copied_project
from benchmarks.trials import TrialError
from sluice.devstack.airflow.api import AirflowApi, succeeded
from sluice.devstack.stack import down
from sluice.launch.endpoints import read_endpoints
from sluice.launch.engine import WarmEngine
from sluice.settings import Settings, environment
from sluice.specs.catalog.dag_ids import backfill_dag_id

_PIPELINE = "departures"
_DAY = {"from": "2013-01-02", "to": "2013-01-02"}
_WEEK = {"from": "2013-01-01", "to": "2013-01-07"}
_RUNS = {"full": 7, "small": 2}
_DEADLINE_SECONDS = 600.0


@dataclass(frozen=True)
class _Stack:
    """A project whose demo has run, and whose stack is up."""

    place: Settings

    def sluice(self, *arguments: str) -> str:
        """Run a command of the command line and return what it printed.

        Raises:
            TrialError: it failed.
        """
        own = {"SLUICE_HOME": str(self.place.home), "SLUICE_STATE": str(self.place.state)}
        argv = [str(Path(sys.executable).with_name("sluice")), *arguments]
        ended = subprocess.run(argv, env=dict(environment()) | own, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise TrialError(f"{' '.join(arguments)} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        return ended.stdout

    def verify(self) -> None:
        """Verify a day from the terminal."""
        self.sluice("backfill", "run", _PIPELINE, "--mode", "verify", *_options(_DAY))

    def compute_again(self) -> None:
        """Compute and publish a week from the terminal."""
        why = ("--mode", "recompute", "--why", "benchmark")
        self.sluice("backfill", "run", _PIPELINE, *why, *_options(_WEEK))

    def verify_in_airflow(self) -> None:
        """Verify a day by a run of the DAG."""
        airflow, dag = AirflowApi(read_endpoints(self.place.folder).airflow_url), backfill_dag_id(_PIPELINE)
        airflow.wait(dag, airflow.trigger(dag, {**_DAY, "mode": "verify"}), succeeded, _DEADLINE_SECONDS)

    def served(self) -> int:
        """Return how many batches the engine has had."""
        client = WarmEngine(self.place.folder.engines).client()
        return 0 if client is None else int(client.status()["served"])


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and every time behind them.

    Args:
        size: `full`, or `small` to try the machinery.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-loop-") as folder:
        home = copied_project(Path(folder) / "project", "dags", "include", "plugins", "spark_jobs")
        stack = _Stack(Settings(home=home, state=Path(folder) / "state"))
        try:
            began = time.monotonic()
            stack.sluice("demo")
            cold = time.monotonic() - began
            steps: dict[str, float] = json.loads(stack.place.folder.demo.read_text(encoding="utf-8"))["seconds"]
            times = {
                "verify_day_cli_s": _times(stack.verify, _RUNS[size]),
                "verify_day_airflow_s": _times(stack.verify_in_airflow, _RUNS[size]),
                "correct_week_s": _times(stack.compute_again, _RUNS[size]),
            }
            served = stack.served()
        finally:
            down(stack.place)
    figures = {
        "demo_cold_s": round(cold, 1),
        "demo_warm_s": round(cold - steps["stack"], 1),
        **{name: round(median(each[1:]), 2) for name, each in times.items()},
    }
    return figures, {"size": size, "demo_steps": steps, "times": times, "in_engine": served}


def _times(what: Callable[[], None], runs: int) -> list[float]:
    found = []
    for _ in range(runs):
        began = time.monotonic()
        what()
        found.append(round(time.monotonic() - began, 2))
    return found


def _options(days: dict[str, str]) -> list[str]:
    return [part for name, day in days.items() for part in (f"--{name}", day)]
