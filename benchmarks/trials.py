"""How benchmarks compare two programs: interleaved fresh processes, CPU of the whole process tree, ratios of pairs."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

_RESAMPLES = 10_000


@dataclass(frozen=True)
class Cost:
    """What a command and everything it started cost.

    Attributes:
        cpu: user and system seconds of all its processes.
        wall: seconds from start until the last of them had ended.
        peak_mb: the largest resident set of one of them.
        load: the machine's load average (one minute) when it ended.
    """

    cpu: float
    wall: float
    peak_mb: int
    load: float


class TrialError(Exception):
    """A command of a benchmark failed; its last words are in the message."""


def run_counted(command: Sequence[str], environment: Mapping[str, str], *, timeout: float) -> Cost:
    """Run a command in a session of its own, and return what it cost.

    Args:
        command: program and arguments.
        environment: added to this process's.
        timeout: seconds after which it is killed.

    Raises:
        TrialError: it ended with an exit code other than 0, or not in time.
    """
    with tempfile.NamedTemporaryFile("r", suffix=".json") as result, tempfile.TemporaryFile() as output:
        accounted = [sys.executable, "-m", "benchmarks.accounting", result.name, *command]
        inherited = os.environ  # noqa: TID251  a child inherits all of it
        process = subprocess.Popen(
            accounted, env={**inherited, **environment}, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code = process.wait(timeout)
        except BaseException as interrupted:
            for started in [*psutil.Process(process.pid).children(recursive=True), process]:
                started.kill()
            process.wait()
            if isinstance(interrupted, subprocess.TimeoutExpired):
                raise TrialError(f"{' '.join(command)} did not end within {timeout:.0f} s.") from None
            raise
        if code:
            output.seek(0)
            last = output.read().decode(errors="replace").strip()[-2000:]
            raise TrialError(f"{' '.join(command)} ended with exit code {code}: {last}")
        return Cost(**json.loads(Path(result.name).read_text(encoding="utf-8")))


def cpu_seconds(pid: int | None = None) -> float:
    """Return user and system time of a process, or of this one, and all its descendants, dead ones included.

    One that ends at this moment is looked for again: its time is then its parent's.
    """
    me = psutil.Process(pid)
    while True:
        try:
            times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
        except psutil.NoSuchProcess:
            continue
        break
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def abba(first: str, second: str, pairs: int) -> Iterator[tuple[str, str]]:
    """Yield the order of each pair: the first of one is the second of the next, so that a drift favours neither."""
    for number in range(pairs):
        yield (first, second) if number % 2 == 0 else (second, first)


def median_interval(values: Sequence[float], *, confidence: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the median: the same values and seed give the same interval.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no values, no interval")
    draw = random.Random(seed)  # noqa: S311  resampling, nothing to keep secret
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    outside = (1 - confidence) / 2
    return medians[int(outside * _RESAMPLES)], medians[min(int((1 - outside) * _RESAMPLES), _RESAMPLES - 1)]
