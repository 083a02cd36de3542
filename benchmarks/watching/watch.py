"""What watching ten thousand streams costs, by the bare watcher, and a thousand of them inside Airflow's triggerer.

`core_share`: CPU seconds ÷ wall of a process that does nothing but watch. `airflow_core_share`: of `airflow triggerer`,
parent and child together. `detect_beyond_poll_s`: from a driver's death until the trigger's event is in Airflow's
database, less the observation's period. What is observed is real: see `benchmarks.watching.watch_fleet`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from threading import Thread
from typing import Any, Self

from benchmarks.trials import TrialError
from benchmarks.watching import watch_airflow
from benchmarks.watching.watch_fleet import DEPLOYMENT, GENERATION, PERIOD_SECONDS, Fleet, as_text, build
from sluice.airflow.streams.watcher import OBSERVATIONS
from sluice.control.database import open_database, sqlite_url
from sluice.control.registry import SqlRegistry
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.settings import settings
from sluice.streams.health.pacing import MAX_SECONDS
from tests.integration.brokers import free_ports, running

_TICKS = os.sysconf("SC_CLK_TCK")
_HEAP = "512m"


@dataclass(frozen=True)
class Part:
    """One half of the benchmark.

    Attributes:
        topics: how many.
        readers: streams per topic.
        stalled: streams that commit nothing.
        killed: drivers that are killed in the end.
        seconds: how long processor time is counted.
    """

    topics: int
    readers: int
    stalled: int
    killed: int
    seconds: float


@dataclass(frozen=True)
class Size:
    """Both halves; None is left out."""

    bare: Part | None
    airflow: Part | None


_BARE, _AIRFLOW = Part(1000, 10, 10, 10, 120.0), Part(200, 5, 0, 10, 120.0)
_SIZES = {
    "full": Size(_BARE, _AIRFLOW),
    "bare": Size(_BARE, None),
    "airflow": Size(None, _AIRFLOW),
    "small": Size(Part(20, 5, 2, 2, 12.0), Part(10, 2, 0, 2, 10.0)),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and what was seen beside them.

    Args:
        size: `full`, one of its halves (`bare`, `airflow`), or `small` to try the machinery.
    """
    figures: dict[str, Any] = {}
    notes: dict[str, Any] = {"size": size, "folder": tempfile.gettempdir()}
    chosen = _SIZES[size]
    with tempfile.TemporaryDirectory(prefix="sluice-watch-") as place:
        port, controller_port = free_ports()
        broker = BrokerProcess(Path(place) / "kafka", port, controller_port, settings().jars, heap=_HEAP)
        broker.prepare()
        with running(broker):
            if chosen.bare is not None:
                figures |= _bare(Path(place) / "bare", broker.bootstrap, chosen.bare, notes)
                print(figures, notes["bare"], file=sys.stderr, flush=True)
            if chosen.airflow is not None:
                figures |= _in_airflow(Path(place) / "airflow", broker.bootstrap, chosen.airflow, notes)
                print(figures, notes["airflow"], file=sys.stderr, flush=True)
    return figures, notes


def _bare(folder: Path, bootstrap: str, part: Part, notes: dict[str, Any]) -> dict[str, Any]:
    folder.mkdir()
    fleet = Fleet(str(folder), bootstrap, "t", part.topics, part.readers, part.stalled)
    _note(notes, "bare", fleet)
    with _crew(fleet) as crew:
        trial = _Lines(
            [sys.executable, "-m", "benchmarks.watching.watch_trial", as_text(fleet), str(part.seconds)], fleet
        )
        with trial:
            said = trial.next("measured", 300)
            measured = said.pop("measured")
            dead = _kill(crew, fleet, part.killed)
            died = _seen_dead(trial, set(dead), 2 * MAX_SECONDS + 10)
            health = _health(fleet)
    stalled, others = set(fleet.stalled_units), set(fleet.units) - set(fleet.stalled_units) - set(dead)
    found = sum(health.get(unit) == "STALLED" for unit in stalled)
    notes["bare"] |= {
        "measured": measured,
        **said,
        "died_seen_after_s": sorted(round(died[unit] - at, 1) for unit, at in dead.items() if unit in died),
        "health": {word: list(health.values()).count(word) for word in sorted(set(health.values()))},
        "load": os.getloadavg()[0],
    }
    return {
        "streams": len(fleet.units),
        "core_share": round(measured["cpu"] / measured["wall"], 4),
        "longest_observation_gap_s": round(measured["longest_observation_gap"], 1),
        "longest_verdict_gap_s": round(measured["longest_verdict_gap"], 1),
        "sound_told_ok": sum(health.get(unit) in {"OK", "IDLE"} for unit in others) == len(others),
        "stalled_found": f"{found} of {len(stalled)}",
        "dead_found": f"{len(died)} of {len(dead)}",
    }


def _in_airflow(folder: Path, bootstrap: str, part: Part, notes: dict[str, Any]) -> dict[str, Any]:
    folder.mkdir()
    fleet = Fleet(str(folder), bootstrap, "a", part.topics, part.readers, part.stalled)
    _note(notes, "airflow", fleet)
    home = folder / "home"
    environment = {**_environment(fleet), **watch_airflow.configure(home, 2 * len(fleet.units))}
    with _crew(fleet) as crew:
        prepare = [sys.executable, "-m", "benchmarks.watching.watch_airflow", as_text(fleet)]
        begun = time.monotonic()
        subprocess.run(prepare, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=300)
        notes["airflow"]["rows_seconds"] = round(time.monotonic() - begun, 1)
        with _triggerer(folder, environment) as process:
            _until(lambda: len(watch_airflow.deferred(home)) == len(fleet.units), 120, "all triggers are taken")
            _until(lambda: len(_health(fleet)) == len(fleet.units), 180, "every stream has a verdict")
            cpu, begun = _cpu_seconds(process.pid), time.monotonic()
            time.sleep(part.seconds)
            wall = time.monotonic() - begun
            spent = {pid: seconds - cpu.get(pid, 0.0) for pid, seconds in _cpu_seconds(process.pid).items()}
            notes["airflow"]["load"] = os.getloadavg()[0]
            early = watch_airflow.told(home)
            delays = [_delay(crew, home, unit) for unit in _spread(fleet.units, part.killed)]
    beyond = [delay - OBSERVATIONS.seconds for delay in delays]
    notes["airflow"] |= {
        "cpu_by_process": sorted((round(seconds, 2) for seconds in spent.values()), reverse=True),
        "wall": round(wall, 1),
        "told_without_cause": len(early),
        "death_to_event_s": sorted(round(delay, 2) for delay in delays),
        "verdicts": len(_health(fleet)),
    }
    return {
        "deferred": len(fleet.units),
        "airflow_core_share": round(sum(spent.values()) / wall, 4),
        "detect_beyond_poll_s": round(max(beyond), 2),
        "detect_median_s": round(median(delays), 2),
    }


def _note(notes: dict[str, Any], name: str, fleet: Fleet) -> None:
    begun = time.monotonic()
    build(fleet)
    notes[name] = {
        "topics": fleet.topics,
        "streams_per_topic": fleet.readers,
        "commit_every_s": PERIOD_SECONDS,
        "build_seconds": round(time.monotonic() - begun, 1),
    }
    print(f"{name}: {notes[name]}", file=sys.stderr, flush=True)


class _Lines:
    """A process that says one JSON per line; it ends when its standard input closes."""

    def __init__(self, command: Sequence[str], fleet: Fleet) -> None:
        self._process = subprocess.Popen(
            command, env=_environment(fleet), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._said: SimpleQueue[dict[str, Any]] = SimpleQueue()
        Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tell(self, line: str) -> None:
        """Write one line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def next(self, key: str, deadline_seconds: float) -> dict[str, Any]:
        """Return the next that it says with a key.

        Raises:
            TrialError: it does not say that in time.
        """
        end = time.monotonic() + deadline_seconds
        while (left := end - time.monotonic()) > 0:
            try:
                said = self._said.get(timeout=min(left, 1.0))
            except Empty:
                if self._process.poll() is not None:
                    break
                continue
            if key in said:
                return said
        raise TrialError(f"{self._process.args!r} did not say {key!r} within {deadline_seconds:.0f} s.")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))


@contextmanager
def _crew(fleet: Fleet) -> Iterator[_Lines]:
    with _Lines([sys.executable, "-m", "benchmarks.watching.watch_fleet", as_text(fleet)], fleet) as crew:
        crew.next("ready", 60 + 2 * PERIOD_SECONDS)
        yield crew


def _kill(crew: _Lines, fleet: Fleet, count: int) -> Mapping[str, float]:
    """Kill drivers, and return when each died."""
    return {unit: _killed(crew, unit) for unit in _spread(fleet.units[1:], count)}


def _killed(crew: _Lines, unit: str) -> float:
    crew.tell(unit)
    return float(crew.next("killed", 60)["at"])


def _spread(units: Sequence[str], count: int) -> Sequence[str]:
    """Return some units, evenly among all and not the first, which may be one that is stalled."""
    return units[len(units) // count // 2 :: max(1, len(units) // count)][:count]


def _seen_dead(trial: _Lines, units: set[str], deadline_seconds: float) -> Mapping[str, float]:
    found: dict[str, float] = {}
    end = time.monotonic() + deadline_seconds
    while set(found) < units and (left := end - time.monotonic()) > 0:
        try:
            said = trial.next("died", left)
        except TrialError:
            break
        found[said["died"]] = said["at"]
    return found


def _delay(crew: _Lines, home: Path, unit: str) -> float:
    """Kill a driver and return how many seconds later the event of its trigger is on record."""
    died = _killed(crew, unit)
    _until(lambda: unit in watch_airflow.told(home), 60, f"the death of {unit} is told", every=0.05)
    return time.time() - died


def _health(fleet: Fleet) -> Mapping[str, str]:
    """Return the newest verdict on record of each unit, if it is of the present generation."""
    registry = SqlRegistry(open_database(sqlite_url(fleet.state.control)), DEPLOYMENT)
    return {
        unit: record.verdict.health.value
        for unit, records in registry.newest_verdicts(fleet.units).items()
        for record in records.values()
        if record.generation == GENERATION  # those before are the fleet's own
    }


@contextmanager
def _triggerer(folder: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run Airflow's triggerer in a session of its own; on the way out all of it is gone."""
    airflow = str(Path(sys.executable).with_name("airflow"))
    with (folder / "triggerer.log").open("wb") as log:
        process = subprocess.Popen(
            [airflow, "triggerer", "--skip-serve-logs"], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _environment(fleet: Fleet) -> dict[str, str]:
    inherited = os.environ  # noqa: TID251  a child inherits all of it
    return {**inherited, **fleet.environment}


def _cpu_seconds(root: int) -> Mapping[int, float]:
    """Return the user and system seconds of a process and of all below it."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it ended just now
        parents[int(entry.name)] = int(fields[1])
        seconds[int(entry.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    family, grown = {root}, True
    while grown:
        found = {pid for pid, parent in parents.items() if parent in family} | family
        family, grown = found, len(found) > len(family)
    return {pid: seconds[pid] for pid in family if pid in seconds}


def _until(condition: Callable[[], bool], deadline_seconds: float, what: str, every: float = 0.5) -> None:
    end = time.monotonic() + deadline_seconds
    while not condition():
        if time.monotonic() > end:
            raise TrialError(f"It was not so within {deadline_seconds:.0f} s that {what}.")
        time.sleep(every)
