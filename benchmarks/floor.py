"""The least that a micro-batch costs: one without a row, with PySpark's defaults and with the preset.

Two shapes, without state and with a windowed count, into Spark's sink that drops everything, so that plan, log and
state are all there is; every trial is a fresh process, the two variants alternate, and the figure is the worse of the
two shapes. A stream runs for months, so the JVM is warm when the counting begins. That the preset
starts no process per batch is counted in trials of their own: the JVM records each process that it starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.trials import abba
from sluice.settings import settings

_PAIRS = {"full": {"stateless": 5, "stateful": 2}, "small": {"stateless": 1, "stateful": 1}}
_BATCHES = {"full": (1000, 200), "small": (25, 60)}
"""How many batches are run first, while the JVM compiles, and how many are counted."""
_LONG_BATCHES = (4, 12)
"""With 200 partitions of state a batch takes seconds; there a warm JVM makes no difference."""
_SHAPES = ("stateless", "stateful")


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `ratio_default` (defaults ÷ ours) and `forks_per_batch` (ours)."""
    trials: dict[str, list[dict[str, Any]]] = {}
    for shape in _SHAPES:
        pairs = trials[shape] = []
        for order in abba("default", "sluice", _PAIRS[size][shape]):
            pairs.append({variant: _trial(variant, shape, size) for variant in order})
            print(f"{shape}: {pairs[-1]}", file=sys.stderr, flush=True)
    # Ours as long as where time is measured: an executor asks once, after ten seconds, for the machine's page size.
    traced = {f"sluice {shape}": _trial("sluice", shape, size, traced=True) for shape in _SHAPES}
    traced |= {f"default {shape}": _trial("default", shape, "small", traced=True) for shape in _SHAPES}
    ratios = {shape: _ratio(pairs, "milliseconds") for shape, pairs in trials.items()}
    forks = {name: found["forks_per_batch"] for name, found in traced.items()}
    figures = {
        "ratio_default": min(ratios.values()),
        "forks_per_batch": max(forks[f"sluice {shape}"] for shape in _SHAPES),
    }
    cpu = {shape: _ratio(pairs, "cpu_milliseconds") for shape, pairs in trials.items()}
    return figures, {"size": size, "ratios": ratios, "ratios_cpu": cpu, "forks_per_batch": forks, "trials": trials}


def _ratio(pairs: list[dict[str, Any]], cost: str) -> float:
    return round(median(pair["default"][cost] / pair["sluice"][cost] for pair in pairs), 2)


def _trial(variant: str, shape: str, size: str, *, traced: bool = False) -> dict[str, Any]:
    counts = _LONG_BATCHES if (variant, shape) == ("default", "stateful") else _BATCHES[size]
    with tempfile.TemporaryDirectory(prefix="sluice-floor-") as folder:
        command = [sys.executable, "-m", "benchmarks.floor_trial", variant, shape, folder, *map(str, counts)]
        inherited = os.environ  # noqa: TID251  a child inherits all of it
        environment = {**inherited, "PYTHONPATH": str(settings().home)}
        if traced:
            recording = Path(folder) / "recording.jfr"
            command.append(str(recording))
            environment["JAVA_TOOL_OPTIONS"] = f"-XX:StartFlightRecording:filename={recording}"
        done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
