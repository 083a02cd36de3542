"""A plan of capacity for twice the rate, made under a changing load, with what twice the rate then takes.

The pipeline of the benchmark `azure` in the lane `balanced`: nested telemetry, its raw table, and each event once in a
topic. It is measured at changing rates up to R, planned for 2 R by what its driver has logged, and then runs at 2 R.
`capacity_error` is how far the planned cores at work are from those that the driver's processes took, counted by the
kernel; `batch_error` is the same for the length of a batch of the topic's stream. Where `achieved_rate` is below 2 R,
the machine was too busy for the comparison.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.azure.azure import send_one, sleep_until
from benchmarks.azure.project import UNIT, write_project
from benchmarks.backfill.recompute import surroundings
from benchmarks.topics import private_topics
from benchmarks.trials import cpu_seconds
from sluice.capacity.batches import batch_models
from sluice.capacity.measured import MeasuredUnit
from sluice.capacity.plan import CapacityPlan, capacity_plan
from sluice.capacity.targets import Target, WantedRate
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.capacity.measuring import measured_unit
from sluice.project.project import Project
from sluice.settings import Settings, StateFolder
from sluice.streams.health.batch_log import BatchFigures, batches
from tests.integration.serving import background

PIPELINE = "telemetry_once"
_AHEAD_SECONDS = 8
"""A generator is started so long before its first event, which is more than its Java needs."""


@dataclass(frozen=True)
class Load:
    """What is sent.

    Attributes:
        rate: R, events per second.
        warm: seconds at R that come first.
        block: seconds at each of the changing rates.
        shares: of R, one block each.
        adapting: seconds at 2 R that do not count.
        counted: seconds at 2 R that do.
    """

    rate: int
    warm: int
    block: int
    shares: Sequence[float]
    adapting: int
    counted: int

    @property
    def phases(self) -> Sequence[tuple[int, int]]:
        """Rate and seconds of each phase."""
        changing = [(round(share * self.rate), self.block) for share in self.shares]
        return [(self.rate, self.warm), *changing, (2 * self.rate, self.adapting + self.counted)]


_LOADS = {
    "full": Load(3_000, 120, 20, (0.4, 1.0, 0.7, 0.4, 1.0, 0.7, 0.4, 1.0, 0.7, 0.4, 1.0, 0.7), 40, 120),
    "small": Load(1_000, 60, 15, (0.4, 1.0, 0.4, 1.0, 0.4, 1.0), 20, 40),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and what was planned and seen.

    Args:
        size: `full`, or `small` to try the machinery in less than four minutes.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-capacity-") as folder:
        figures, notes = _measured(Path(folder), _LOADS[size])
    return figures, {"size": size, **notes}


def _measured(folder: Path, load: Load) -> tuple[dict[str, Any], dict[str, Any]]:
    state, home = StateFolder(folder / "state"), folder / "project"
    write_project(home, lane="balanced", trigger="2 seconds")
    with ExitStack() as stack:
        bootstrap = stack.enter_context(private_topics(folder, home / "include")).bootstrap
        write_endpoints(state, Endpoints((bootstrap,), airflow_url=""))
        main = [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", UNIT, "--generation", "1"]
        driver = stack.enter_context(background("driver", main, state.root, surroundings(state.root, home)))
        send_one(bootstrap, state)
        begin = math.ceil(time.time()) + _AHEAD_SECONDS
        for number, (rate, seconds) in enumerate(load.phases):
            sleep_until(1_000 * (begin - _AHEAD_SECONDS))
            stack.enter_context(_generator(bootstrap, begin, rate, seconds, folder / str(number)))
            begin += seconds
        doubled = begin - load.phases[-1][1]
        sleep_until(1_000 * doubled)
        measured = measured_unit(Project.open_strict(Settings(home=home, state=state.root)), PIPELINE)
        plan = capacity_plan(measured, Target(WantedRate(per_second=2.0 * load.rate)))
        sleep_until(1_000 * (doubled + load.adapting))
        before = cpu_seconds(driver.pid)
        sleep_until(1_000 * begin)
        used = (cpu_seconds(driver.pid) - before) / load.counted
        seen = _batches(state, doubled + load.adapting)
    return _figures(plan, measured, used, seen, load)


def _figures(
    plan: CapacityPlan, measured: MeasuredUnit, used: float, seen: Sequence[BatchFigures], load: Load
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how far the plan was off, and what it said.

    Args:
        plan: for twice the rate.
        measured: what it was made from.
        used: cores at work at twice the rate, by the kernel's count.
        seen: the batches at twice the rate.
        load: what was sent.
    """
    planned = plan.estimate("used cores")
    assert planned.value is not None
    models = {model.stream: model for model in batch_models(measured)}
    length, took = (
        models[PIPELINE].times(2.0 * load.rate, models[PIPELINE].cores)[0],
        mean(b.seconds or 0 for b in seen),
    )
    figures = {
        "capacity_error": round(abs(planned.value - used) / used, 4),
        "batch_error": round(abs(length - took) / took, 4),
        "achieved_rate": round(_rate(seen)),
    }
    notes = {
        "rate": load.rate,
        "windows": len(measured.windows),
        "measured_cores": [round(window.cpu_seconds / window.seconds, 3) for window in measured.windows],
        "measured_rates": [round(window.rate) for window in measured.windows],
        "planned_cores": [round(value or 0.0, 3) for value in (planned.value, planned.low, planned.high)],
        "used_cores": round(used, 3),
        "why": planned.why,
        "batch_s": {"planned": round(length, 3), "seen": round(took, 3), "count": len(seen)},
        "load_while_measured": round(os.getloadavg()[0], 1),
    }
    return figures, notes


def _batches(state: StateFolder, since: float) -> Sequence[BatchFigures]:
    """Return the batches that were planned from a moment on (Unix time)."""
    began = datetime.fromtimestamp(since, UTC)
    return [batch for batch in batches(state.batch_log(PIPELINE), most=10_000) if batch.at >= began]


def _rate(seen: Sequence[BatchFigures]) -> float:
    """Return how many records a second they read."""
    first, last = seen[0], seen[-1]
    return ((last.read or 0) - (first.read or 0)) / (last.at - first.at).total_seconds()


def _generator(
    bootstrap: str, begin: int, rate: int, seconds: int, folder: Path
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    arguments = [bootstrap, *map(str, (1_000 * begin, rate, rate * seconds)), str(folder / "result.json")]
    command = [sys.executable, "-m", "benchmarks.azure.generator", *arguments]
    return background("generator", command, folder, surroundings(folder))
