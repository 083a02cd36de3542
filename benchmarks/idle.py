"""What a stack at rest takes of a core, with all DAGs unpaused and one unit without records; when a new spec is a DAG.

`stack_core_share`: CPU seconds ÷ wall of every process that `sluice up` and the unit's DAG have started, children that
have ended in between included: this process adopts what outlives its parent, and a parent's count has its children's.
`airflow_core_share`: of the four components of Airflow with the tasks that they run and the files that they parse.
`stack_pss_mb`: the memory of the same processes, what several share counted once (proportional set size).
`spec_appears_s`: from a pipeline's spec being written until its unit's DAG is in Airflow, the longest of several.
`spec_gone_s`: from its removal until Airflow takes the DAG for gone.

A driver's first minutes are left out: Java compiles what has just become hot, at rest as under load.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.project_copy import copied_project
from benchmarks.trials import TrialError
from sluice.clock import SystemClock
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.devstack.airflow.configuration import COMPONENTS
from sluice.devstack.stack import down, up
from sluice.devstack.supervision import Supervisor
from sluice.errors import NotReadyError
from sluice.settings import Settings

_PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_SECONDS = 0.25
_DEADLINE_SECONDS = 300.0


@dataclass(frozen=True)
class Size:
    """How long it is settled and measured, in seconds, and how many specs are written."""

    settle: float
    seconds: float
    specs: int


_SIZES = {"full": Size(180.0, 300.0, 3), "small": Size(20.0, 60.0, 1)}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and what each kind of process took.

    Args:
        size: `full`, or `small` to try the machinery.
    """
    chosen = _SIZES[size]
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="sluice-idle-") as folder:
        home = copied_project(Path(folder) / "project", "dags", "include", "plugins", "spark_jobs")
        place = Settings(home=home, state=Path(folder) / "state")
        try:
            url = _up(place)
            _start(AirflowApi(url))
            time.sleep(chosen.settle)
            shares, notes = _measured(place, chosen.seconds)
            memory = _memory_by_kind(place)
            print(shares, notes, file=sys.stderr, flush=True)
            specs = _Specs(url, place.home)
            appeared = [specs.appears(number) for number in range(chosen.specs)]
            gone = specs.gone(0)
        finally:
            down(place)
    airflow = sum(share for kind, share in shares.items() if kind.split(":")[0] in COMPONENTS)
    figures = {
        "airflow_core_share": round(airflow, 4),
        "stack_core_share": round(sum(shares.values()), 4),
        "stack_pss_mb": round(sum(memory.values())),
        "spec_appears_s": max(appeared),
        "spec_gone_s": gone,
    }
    by_kind = {kind: round(share, 4) for kind, share in sorted(shares.items(), key=lambda found: -found[1])}
    by_memory = {kind: round(mb) for kind, mb in memory.most_common()}
    return figures, {"size": size, "shares": by_kind, "pss_mb": by_memory, "spec_appears": appeared, **notes}


def _up(place: Settings) -> str:
    """Bring the stack up, on a machine that is busy by a second try; return where Airflow answers."""
    with suppress(NotReadyError):
        return up(place).airflow_url
    return up(place).airflow_url


def _start(airflow: AirflowApi) -> None:
    airflow.wait("topics", airflow.trigger("topics"), succeeded, _DEADLINE_SECONDS)
    asked = {"action": "start", "reason": "benchmark"}
    airflow.wait("stream_flights", airflow.trigger("stream_flights", asked), watching, _DEADLINE_SECONDS)


def _measured(place: Settings, seconds: float) -> tuple[Mapping[str, float], Mapping[str, Any]]:
    """Return what each kind of process takes of a core, and notes."""
    programs = _programs(place)
    before, begun = _cpu_by_kind(programs), time.monotonic()
    time.sleep(seconds)
    after, wall = _cpu_by_kind(programs), time.monotonic() - begun
    shares = {kind: (after[kind] - before[kind]) / wall for kind in after | before}
    return shares, {"wall": round(wall, 1), "load": os.getloadavg()[0]}


def _programs(place: Settings) -> Mapping[int, str]:
    supervisor = Supervisor(place.folder.supervisor, place.folder.logs, SystemClock())
    return {pid: name for name, pid in supervisor.pids().items()}


def _memory_by_kind(place: Settings) -> Counter[str]:
    """Return the proportional set size (MB) of all that descends from this process, by kind."""
    found, programs = _processes(), _programs(place)
    memory: Counter[str] = Counter()
    for pid in found:
        if kind := _kind(pid, found, programs):
            with suppress(OSError):  # it ended just now
                lines = (Path("/proc") / str(pid) / "smaps_rollup").read_text(encoding="utf-8").splitlines()
                memory[kind] += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return memory


@dataclass(frozen=True)
class _Process:
    parent: int
    name: str
    own: float
    children: float


def _cpu_by_kind(programs: Mapping[int, str]) -> Counter[str]:
    """Return the CPU seconds of all that descends from this process, ended children included, by kind."""
    found = _processes()
    kinds: Counter[str] = Counter()
    for pid, process in found.items():
        if kind := _kind(pid, found, programs):
            below = _below(kind) if pid in programs else kind
            kinds[kind] += process.own
            kinds[below] += process.children
    times = os.times()
    kinds["ended"] += times.children_user + times.children_system
    return kinds


_BELOW = {"scheduler": "scheduler: tasks", "dag-processor": "dag-processor: files"}


def _below(kind: str) -> str:
    return _BELOW.get(kind, kind)


def _kind(pid: int, found: Mapping[int, _Process], programs: Mapping[int, str]) -> str:
    """Return what a process counts for: its own kind or that of the program above it; empty if it is not ours."""
    at, kind = pid, ""
    while at in found and at != os.getpid():
        if not kind and at in programs:
            kind = programs[at] if at == pid else _below(programs[at])
        at = found[at].parent
    if at != os.getpid() or pid == os.getpid():
        return ""
    return kind or f"stream: {found[pid].name}"


def _processes() -> Mapping[int, _Process]:
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:
            continue  # it ended just now
        fields = tail.split()
        user, system, children_user, children_system = (int(field) / _TICKS for field in fields[11:15])
        found[int(entry.name)] = _Process(
            int(fields[1]), head.partition("(")[2], user + system, children_user + children_system
        )
    return found


class _Specs:
    """Writes specs into a project, and waits for what Airflow makes of them."""

    def __init__(self, url: str, home: Path) -> None:
        self._web = httpx.Client(base_url=f"{url}/api/v2", timeout=20, trust_env=False)
        self._folder = home / "include" / "pipelines"

    def appears(self, number: int) -> float:
        """Write a spec, and return how many seconds later the DAG of its unit is there."""
        name = f"idle_{number}"
        text = (self._folder / "departures.yaml").read_text(encoding="utf-8")
        text = re.sub(r"^driver: \w+", f"driver: {name}", text, flags=re.MULTILINE)
        text = re.sub(r"(?<![:\w])departures(_\w+)?\b(?!:)", lambda found: name + (found.group(1) or ""), text)
        suites = self._folder.parent / "expectations"
        suite = (suites / "departures.yaml").read_text(encoding="utf-8")
        (suites / f"{name}.yaml").write_text(suite.replace("departures", name), encoding="utf-8")
        (self._folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        return self._until(name, there=True)

    def gone(self, number: int) -> float:
        """Remove a spec, and return how many seconds later its DAG is not there any more."""
        name = f"idle_{number}"
        (self._folder / f"{name}.yaml").unlink()
        (self._folder.parent / "expectations" / f"{name}.yaml").unlink()
        return self._until(name, there=False)

    def _until(self, name: str, *, there: bool) -> float:
        begun = time.monotonic()
        while self._active(name) is not there:
            if time.monotonic() - begun > _DEADLINE_SECONDS:
                raise TrialError(f"stream_{name} is {'not ' * there}there after {_DEADLINE_SECONDS:.0f} s.")
            time.sleep(_POLL_SECONDS)
        return round(time.monotonic() - begun, 1)

    def _active(self, name: str) -> bool:
        answer = self._web.get("/dags", params={"dag_id_pattern": f"stream_{name}", "exclude_stale": True})
        return answer.is_success and bool(answer.json()["dags"])
