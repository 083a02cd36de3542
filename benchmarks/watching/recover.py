"""How long a stream is away after a kill -9 of its driver, beside an Airflow retry of SparkSubmitOperator.

Both run in one real stack, one after the other: our unit `flights` as its DAG starts it, and the same two queries
written by hand under SparkSubmitOperator, with its default `retry_delay` (five minutes) and with none. A trial kills
the driver, sends records, and ends when the raw table holds each of them exactly once.

Kills in a row would meet the backoff that is meant for them. What is asked is what one kill costs a stream that was
well, so a person restarts ours between two trials, after which the governor counts from zero.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from benchmarks.live_stream import Traffic
from benchmarks.project_copy import copied_project
from sluice.delta.reading import read_rows
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.devstack.stack import down, up
from sluice.errors import NotReadyError
from sluice.launch.endpoints import Endpoints
from sluice.launch.processes import STACK_MARK, marked
from sluice.project.project import Project
from sluice.settings import Settings, settings

_REPEATS = {"full": 5, "small": 1}
_DEADLINE_SECONDS = 900.0
_POLL_SECONDS = 0.1
_STOP_SECONDS = 60.0
_BEGIN = datetime(2013, 1, 1, tzinfo=UTC)
_PEERS = {"retry_default": "", "retry_0": "retry_delay=timedelta(0), "}

_DAG = """
from datetime import timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

with DAG({name!r}, schedule=None, is_paused_upon_creation=False):
    SparkSubmitOperator(
        task_id="stream",
        application={main!r},
        application_args=[{bootstrap!r}, {folder!r}],
        conn_id="spark_default",
        conf={conf!r},
        retries=20,
        {delay})
"""


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `ratio_airflow_retry` and `ratio_airflow_retry_0` (ours ÷ theirs), and the seconds behind them."""
    with tempfile.TemporaryDirectory(prefix="sluice-recover-") as folder:
        place = _place(Path(folder))
        try:
            endpoints = up(place)
            bench = Bench(place, endpoints)
            repeats = _REPEATS[size]
            seconds = {"sluice": bench.ours(repeats), "retry_0": bench.theirs("retry_0", repeats)}
            if size == "full":
                seconds["retry_default"] = bench.theirs("retry_default", 1)
        finally:
            down(place)
    medians = {name: median(found) for name, found in seconds.items()}
    figures = {
        "ratio_airflow_retry_0": round(medians["sluice"] / medians["retry_0"], 3),
        "ratio_airflow_retry": round(medians["sluice"] / medians["retry_default"], 3) if size == "full" else None,
        "seconds": round(medians["sluice"], 1),
    }
    return figures, {"size": size, "seconds": seconds}


def _place(folder: Path) -> Settings:
    home = copied_project(folder / "project", "dags", "include", "plugins", "spark_jobs")
    return Settings(home=home, state=folder / "state")


class Bench:
    """The stack, and traffic that goes on from trial to trial."""

    def __init__(self, place: Settings, endpoints: Endpoints) -> None:
        self._place = place
        self._airflow = AirflowApi(endpoints.airflow_url)
        self._web = httpx.Client(base_url=f"{endpoints.airflow_url}/api/v2", timeout=20, trust_env=False)
        self._bootstrap = endpoints.kafka_bootstrap[0]
        self._until = _BEGIN
        self._airflow.wait("topics", self._airflow.trigger("topics"), succeeded, 120)
        self._traffic = Traffic(self._bootstrap, copies=1, rate=1)

    def ours(self, repeats: int) -> list[float]:
        """Return the seconds that our stream was away, per trial; then stop it."""
        self._ask("start")
        project = Project.open_strict(self._place)
        table = project.folder.table("flights_raw")

        def kill() -> None:
            report = project.streams.life("flights").observe().report
            assert report is not None
            assert report.pid is not None
            os.kill(report.pid, signal.SIGKILL)

        seconds = self._trials("sluice", repeats, kill, table, between=lambda: self._ask("restart"))
        stop = self._airflow.trigger("stream_flights", {"action": "stop", "reason": "benchmark"})
        self._airflow.wait("stream_flights", stop, succeeded, 180)
        return seconds

    def _ask(self, action: str) -> None:
        run = self._airflow.trigger("stream_flights", {"action": action, "reason": "benchmark"})
        self._airflow.wait("stream_flights", run, watching, 180)

    def theirs(self, name: str, repeats: int) -> list[float]:
        """Return the same of the hand-written job under SparkSubmitOperator; its stream ends with the stack."""
        folder = self._place.state / name
        jars = ",".join(map(str, sorted((settings().jars / "spark").glob("*.jar"))))
        dag = _DAG.format(
            name=name,
            main=str(Path(__file__).with_name("recover_peer.py")),
            bootstrap=self._bootstrap,
            folder=str(folder),
            conf={
                "spark.jars": jars,
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
                "spark.sql.shuffle.partitions": "2",
            },
            delay=_PEERS[name],
        )
        (self._place.home / "dags" / f"{name}.py").write_text(dag, encoding="utf-8")
        run = self._airflow.trigger(name)
        seconds = self._trials(name, repeats, lambda: _kill_submit(self._place, folder), folder / "tables" / "raw")
        # What is marked failed is not tried again, and must not share the machine with the next peer.
        self._web.patch(f"/dags/{name}/dagRuns/{run}", json={"state": "failed"}).raise_for_status()
        deadline = time.monotonic() + _STOP_SECONDS
        while running := _submits(self._place, folder):
            if time.monotonic() > deadline:
                os.kill(running[0], signal.SIGKILL)
            time.sleep(_POLL_SECONDS)
        return seconds

    def _trials(
        self,
        name: str,
        repeats: int,
        kill: Callable[[], None],
        table: Path,
        between: Callable[[], None] = lambda: None,
    ) -> list[float]:
        found: list[float] = []
        for _ in range(repeats):
            if found:
                between()
            self._send()
            self._wait(table)
            began = time.monotonic()
            kill()
            self._send()
            self._wait(table)
            found.append(round(time.monotonic() - began, 2))
            print(f"{name}: {found[-1]} s", file=sys.stderr, flush=True)
        return found

    def _send(self) -> None:
        self._until += timedelta(days=1)
        self._traffic.send_until(self._until)

    def _wait(self, table: Path) -> None:
        """Wait until the table holds every record that was sent, exactly once."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while (held := _held(table)) != (self._traffic.sent, self._traffic.sent):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{table.name} holds {held} of {self._traffic.sent} records")
            time.sleep(_POLL_SECONDS)


def _held(table: Path) -> tuple[int, int]:
    """Return how many rows a raw table has, and how many different records."""
    try:
        rows = read_rows(table).select(["partition", "offset"]).to_pandas()
    except NotReadyError:
        return 0, 0
    return len(rows), len(rows.drop_duplicates())


def _submits(place: Settings, folder: Path) -> list[int]:
    """Return the JVMs of the stack that run the job of a folder."""
    found = []
    for pid in marked(STACK_MARK, str(place.state)):
        try:
            process = psutil.Process(pid)
            if process.name() == "java" and str(folder) in process.cmdline():
                found.append(pid)
        except psutil.NoSuchProcess:
            continue
    return found


def _kill_submit(place: Settings, folder: Path) -> None:
    (pid,) = _submits(place, folder)
    os.kill(pid, signal.SIGKILL)
