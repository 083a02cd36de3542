"""How long a record takes into the raw table while the same driver settles an interval of ten million records."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread
from typing import Any

import pandas as pd
from kafka import KafkaProducer

from benchmarks.backfill.recompute import surroundings
from benchmarks.draining import ads
from benchmarks.raw_progress import stored
from benchmarks.topics import private_topics
from sluice.clock import SystemClock
from sluice.delta.log import read_log
from sluice.delta.reading import read_rows
from sluice.intervals.entries import SettleEntry, StreamEntry
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.settings import StateFolder
from tests.editing import edit

_TIMES = {"full": 5, "small": 1}
"""How often each event occurs."""
_EVENTS = {"full": 2_000_000, "small": 100_000}
_REST_SECONDS = {"full": 90.0, "small": 20.0}
_SECONDS_BETWEEN = 0.25
_READY_SECONDS = 1_800.0
_NEXT_DAY = ads.START.to_pydatetime() + timedelta(days=1, minutes=30)


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `raw_latency_ratio`: the median time into the raw table during a settlement ÷ at rest; `wrong_rows` of it.

    A record comes every quarter of a second; the raw stream's batches begin five seconds apart.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-yielding-") as folder:
        return _measured(Path(folder), size)


def _measured(folder: Path, size: str) -> tuple[dict[str, Any], dict[str, Any]]:
    home, events, times = folder / "project", _EVENTS[size], _TIMES[size]
    ads.write_project(home)
    edit(home / "include/pipelines/ads.yaml", '"interval": "hour"', '"interval": "day"')
    with private_topics(folder, home / "include") as topics:
        ads.publish(topics.bootstrap, events, copies=times, later=False)
        state = StateFolder(folder / "state")
        write_endpoints(state, Endpoints((topics.bootstrap,), airflow_url=""))
        with _driver(home, state), _Trickle(topics.bootstrap).flowing() as trickle:
            raw, table = state.table("ad_events_raw"), state.table("ads")
            _until(lambda: stored(raw) >= events * times)
            time.sleep(10)  # what was compiled for a backlog is done with it
            rest = datetime.now(UTC)
            time.sleep(_REST_SECONDS[size])
            begun = datetime.now(UTC)
            trickle.complete_the_day()
            _until(lambda: _settled(table) is not None)
            ended = _settled(table) or datetime.now(UTC)
        waits = trickle.latencies(raw)
    quiet, busy = ([s for at, s in waits if since <= at < until] for since, until in ((rest, begun), (begun, ended)))
    figures = {
        "raw_latency_ratio": round(_median(busy) / _median(quiet), 2),
        "wrong_rows": _wrong(read_rows(table).to_pandas(), events, times),
    }
    notes = {"records": events * times, "settle_s": round((ended - begun).total_seconds(), 1)}
    for name, seconds in (("rest", quiet), ("settling", busy)):
        notes[name] = {"median_s": _median(seconds), "p95_s": round(quantiles(seconds, n=20)[-1], 2), "n": len(seconds)}
    return figures, {**notes, "load": os.getloadavg()}


class _Trickle:
    """A record every quarter of a second; none of them is in a row of the pipeline.

    Args:
        bootstrap: of the broker.
    """

    def __init__(self, bootstrap: str) -> None:
        self._producer: Any = KafkaProducer(bootstrap_servers=bootstrap)
        self._event_time = ads.START.to_pydatetime() + timedelta(hours=6)
        self._sent: list[tuple[int, datetime]] = []
        self._stop = Event()

    @contextmanager
    def flowing(self) -> Iterator[_Trickle]:
        """Send while the block runs."""
        thread = Thread(target=self._flow, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()
            self._producer.close()

    def complete_the_day(self) -> None:
        """Let the records come from the next day, from now on."""
        self._event_time = _NEXT_DAY

    def latencies(self, raw: Path) -> list[tuple[datetime, float]]:
        """Return when each record was sent, and after how many seconds a commit of the raw table held it."""
        log = [(each.at, each.entry) for each in read_log(raw) if isinstance(each.entry, StreamEntry)]
        ends = [entry.end.get(f"{ads.TOPIC}/0", 0) for _, entry in log]
        found = ((at, bisect_right(ends, offset)) for offset, at in self._sent)
        return [(at, (log[index][0] - at).total_seconds()) for at, index in found if index < len(log)]

    def _flow(self) -> None:
        while not self._stop.wait(_SECONDS_BETWEEN):
            value = ads.value_of({"event_type": "click", "event_time": self._event_time})
            at = datetime.now(UTC)
            self._sent.append((self._producer.send(ads.TOPIC, value=value, partition=0).get(30).offset, at))


@contextmanager
def _driver(home: Path, state: StateFolder) -> Iterator[None]:
    command = [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", "ads", "--generation", "1"]
    environment = {**os.environ, **surroundings(state.root, home)}  # noqa: TID251  a child inherits it
    process = subprocess.Popen(command, env=environment, start_new_session=True, stdout=sys.stderr)
    try:
        yield
        process.send_signal(signal.SIGTERM)
        if code := process.wait(120):
            raise RuntimeError(f"the driver ended with exit code {code}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _settled(table: Path) -> datetime | None:
    """Return when the first interval with rows was settled; None before that."""
    for each in read_log(table):
        if isinstance(each.entry, SettleEntry) and each.entry.content:
            return each.at
    return None


def _until(condition: Callable[[], bool]) -> None:
    if not wait_until(condition, SystemClock(), deadline_seconds=_READY_SECONDS):
        raise RuntimeError(f"what was waited for did not come in {_READY_SECONDS:.0f} s")


def _wrong(found: pd.DataFrame, events: int, times: int) -> int:
    keys = ["campaign", "began_at"]
    both = ads.expected(events).merge(found, on=keys, how="outer", suffixes=("", "_found"))
    return int((both["views"] * times != both["views_found"]).sum() + found.duplicated(keys).sum())


def _median(seconds: list[float]) -> float:
    return round(quantiles(seconds, n=2)[0], 3)
