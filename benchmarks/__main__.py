"""Run one benchmark, or list them."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from benchmarks import (
    capacity,
    console,
    floor,
    gate,
    house,
    idle,
    latency,
    loop,
    months,
    poison,
    scenarios,
    shapes,
    tax,
)
from benchmarks.azure import azure
from benchmarks.backfill import backfill, publish
from benchmarks.draining import in_sql, settling, yielding
from benchmarks.machines import machines
from benchmarks.matrix import matrix
from benchmarks.mutants import mutants
from benchmarks.peers import peers
from benchmarks.placement import placement
from benchmarks.proving import prove
from benchmarks.records import admission, agreement, parse
from benchmarks.soaking import soak
from benchmarks.watching import recover, verdicts, watch

BENCHMARKS: dict[str, Callable[..., tuple[dict[str, Any], dict[str, Any]]]] = {
    "admission": admission.run,
    "agreement": agreement.run,
    "azure": azure.run,
    "capacity": capacity.run,
    "console": console.run,
    "backfill": backfill.run,
    "poison": poison.run,
    "scenarios": scenarios.run,
    "publish": publish.run,
    "floor": floor.run,
    "gate": gate.run,
    "house": house.run,
    "idle": idle.run,
    "latency": latency.run,
    "loop": loop.run,
    "machines": machines.run,
    "matrix": matrix.run,
    "months": months.run,
    "mutants": mutants.run,
    "parse": parse.run,
    "peers": peers.run,
    "placement": placement.run,
    "prove": prove.run,
    "recover": recover.run,
    "settling": settling.run,
    "shapes": shapes.run,
    "soak": soak.run,
    "sql": in_sql.run,
    "tax": tax.run,
    "verdicts": verdicts.run,
    "watch": watch.run,
    "yielding": yielding.run,
}
"""Name → function that returns figures (numbers and booleans) and notes about the run.

All take a size, `full` or `small`; it is in the notes. Only `full` is measured for the record.
"""


def main(arguments: list[str]) -> int:
    """Run the benchmark that is named, and print its result as the last line."""
    if not arguments or arguments[0] not in BENCHMARKS:
        for name, function in BENCHMARKS.items():
            print(f"{name:12} {(sys.modules[function.__module__].__doc__ or '').splitlines()[0]}", file=sys.stderr)
        return 0 if not arguments else 2
    name, *size = arguments
    figures, notes = BENCHMARKS[name](*size)
    print(json.dumps({"bench": name, "figures": figures, "environment": {**_environment(), **notes}}))
    return 0


def _environment() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
    }


sys.exit(main(sys.argv[1:]))
