"""Standalone clusters of a test's own: to be killed part by part, and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sluice.clock import SystemClock
from sluice.devstack.spark_cluster import MASTER, SparkCluster
from sluice.launch.processes import descendants, wait_until
from tests.integration.brokers import free_ports
from tests.waiting import eventually

_EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"


class RunningCluster:
    """The processes of a cluster by the names of its components."""

    def __init__(self, cluster: SparkCluster) -> None:
        self.cluster = cluster
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start a component that does not run."""
        assert name not in self._processes
        with (self.cluster.folder / f"{name}.log").open("ab") as log:
            command = self.cluster.commands()[name]
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def kill(self, name: str) -> int:
        """Kill a component with SIGKILL, and return which process that was."""
        process = self._processes.pop(name)
        assert process.poll() is None, f"{name} had ended before"
        process.kill()
        assert process.wait(20) == -signal.SIGKILL
        return process.pid

    def executors(self, worker: str) -> list[int]:
        """Return the processes of the executors that a worker runs."""
        return [pid for pid in descendants(self._processes[worker].pid) if _EXECUTOR in _command(pid)]

    def page(self) -> Any:  # noqa: ANN401 - JSON
        """Return all that the master says."""
        with urllib.request.urlopen(f"{self.cluster.page}/json/", timeout=5) as answer:  # noqa: S310 - ours, on loopback
            return json.load(answer)

    def end(self) -> None:
        """End everything, executors included: they end with their worker."""
        executors = [pid for name in self._processes if name != MASTER for pid in self.executors(name)]
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        if not wait_until(lambda: not any(map(_command, executors)), SystemClock(), deadline_seconds=120):
            for pid in filter(_command, executors):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def running_cluster(
    folder: Path, workers: int, kind: Callable[..., SparkCluster] = SparkCluster
) -> Iterator[RunningCluster]:
    """Run a cluster on free ports; on the way out it is gone, whatever happened."""
    port, page = free_ports(2)
    running = RunningCluster(kind(folder, port, page, workers))
    running.cluster.prepare(forget=True)
    try:
        running.start(MASTER)
        eventually(lambda: running.cluster.registered() >= 0)
        for name in running.cluster.worker_names:
            running.start(name)
        running.cluster.wait_ready(60)
        yield running
    finally:
        running.end()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
