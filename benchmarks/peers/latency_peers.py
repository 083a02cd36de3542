"""The job of `latency` by what people would write or take instead, beside our lanes: PySpark, Flink SQL, Kafka Streams.

Strict parsing, a filter, five columns, from one topic into another. Each program is a process of its own with a broker
of its own; see `benchmarks.latency_trial`. None of them ends by itself: it is stopped when everything has come out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.backfill.recompute import surroundings
from benchmarks.latency_trial import PER_SECOND, RESULTS, SOURCE, Latencies, Program, lane_latencies, trial
from benchmarks.peers.installs import fault_of, install_flink, install_kstreams
from benchmarks.peers.programs import FLINK_VARIABLES, flink_command, kstreams_command
from sluice.settings import settings
from sluice.specs.model.lanes import Lane
from tests.integration.serving import background

_SECONDS = {"full": 60, "small": 20}
_REALTIME_SECONDS = {"full": 100, "small": 20}
"""A batch of the lane `realtime` lasts a minute: its end is among what is measured."""


@dataclass(frozen=True)
class Contender:
    """A program that is compared.

    Attributes:
        measure: measures it for so many seconds.
        seconds: how long, by the size of the benchmark.
        install: what it needs; costs little when that is there.
    """

    measure: Callable[[int], Latencies]
    seconds: dict[str, int]
    install: Callable[[], object] = lambda: None


def run(size: str = "full", *names: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `<program>_p50_ms` and `<program>_p99_ms` of each program.

    Args:
        size: `full`, or `small` to try the machinery.
        names: the programs that run; all if there are none.
    """
    chosen = {name: CONTENDERS[name] for name in CONTENDERS if not names or name in names}
    missing = {name: fault for name, contender in chosen.items() if (fault := fault_of(contender.install))}
    seen, loads = dict[str, Latencies](), dict[str, float]()
    for name in (each for each in chosen if each not in missing):
        seen[name] = chosen[name].measure(chosen[name].seconds[size])
        loads[name] = round(os.getloadavg()[0], 1)
        print(name, seen[name].notes(), loads[name], file=sys.stderr, flush=True)
    notes = {"size": size, "records_per_s": PER_SECOND, "missing": missing}
    programs = {name: {**latencies.notes(), "load": loads[name]} for name, latencies in seen.items()}
    return figures(seen), {**notes, "programs": programs}


def figures(seen: dict[str, Latencies]) -> dict[str, int]:
    """Return the median and the 99th percentile of each program, in milliseconds."""
    shares = {"p50": 0.5, "p99": 0.99}
    return {f"{name}_{end}_ms": found.share(part) for name, found in seen.items() for end, part in shares.items()}


def _lane(lane: Lane) -> Callable[[int], Latencies]:
    return lambda seconds: lane_latencies(lane, seconds)[0]


def _through(program: Program) -> Callable[[int], Latencies]:
    def measure(seconds: int) -> Latencies:
        with trial(program, seconds) as (_, latencies):
            return latencies

    return measure


def _pyspark(*options: str) -> Program:
    def program(folder: Path, bootstrap: str) -> AbstractContextManager[object]:
        module = [sys.executable, "-m", "benchmarks.peers.delays_by_hand"]
        command = [*module, *_where(folder, bootstrap), *options]
        return background("pyspark", command, folder, surroundings(folder, root=settings().home))

    return program


def _flink(folder: Path, bootstrap: str) -> AbstractContextManager[object]:
    return background("flink", flink_command("delays", _where(folder, bootstrap)), folder, FLINK_VARIABLES)


def _kstreams(folder: Path, bootstrap: str) -> AbstractContextManager[object]:
    return background("kstreams", kstreams_command("peers.Delays", _where(folder, bootstrap)), folder, {})


def _where(folder: Path, bootstrap: str) -> Sequence[str]:
    return bootstrap, SOURCE, RESULTS, str(folder)


CONTENDERS = {
    "realtime": Contender(_lane(Lane.REALTIME), _REALTIME_SECONDS),
    "micro": Contender(_lane(Lane.LATENCY), _SECONDS),
    "pyspark": Contender(_through(_pyspark()), _SECONDS),
    "pyspark_async": Contender(_through(_pyspark("async")), _SECONDS),
    "flink": Contender(_through(_flink), _SECONDS, install_flink),
    "kstreams": Contender(_through(_kstreams), _SECONDS, install_kstreams),
}
