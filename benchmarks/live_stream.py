"""A running stream of `departures` under steady traffic, with a broker and a state folder of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

from kafka import KafkaProducer

from benchmarks.backfill.recompute import PIPELINE, surroundings
from benchmarks.dense_flights import lines, value_of
from benchmarks.project_copy import dense_project
from benchmarks.topics import private_topics
from sluice.feeds.nycflights13 import Nycflights13
from sluice.feeds.pace import Pace
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder, settings
from sluice.specs.load import load_catalog

_LAST_DAY = date(2013, 4, 30)  # more than any run can send
_READY_SECONDS, _STOP_SECONDS = 300.0, 120.0
_POLL_SECONDS = 0.2


class Traffic:
    """Every flight many times, in order of arrival: some at once, the rest at a rate.

    Args:
        bootstrap: the broker.
        copies: how often every flight occurs.
        rate: records per second.
    """

    def __init__(self, bootstrap: str, copies: int, rate: int) -> None:
        source, topic = Nycflights13.load(), load_catalog(settings().home / "include").topics["flights"]
        flights, end = sum(source.days().values()), datetime.max.replace(tzinfo=UTC)
        records = lines(source.records(date(2013, 1, 1), _LAST_DAY), topic, end)
        self._records: Iterator[tuple[datetime, bytes, bytes]] = (
            (line["arrival"], line["key"], value_of(line, copy * flights)) for line in records for copy in range(copies)
        )
        self._producer: Any = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, batch_size=2**17)
        self._rate = rate
        self.sent = 0

    def send_until(self, arrival: datetime) -> None:
        """Send all that became known before `arrival`, as fast as the broker takes it."""
        while self._send() < arrival:
            pass
        self._producer.flush()

    def flowing(self) -> AbstractContextManager[None]:
        """Send at the rate while the block runs."""
        return repeated(self._send, self._rate)

    def _send(self) -> datetime:
        arrival, key, value = next(self._records)
        self._producer.send("flights", key=key, value=value)
        self.sent += 1
        return arrival


@contextmanager
def repeated(send: Callable[[], object], rate: int) -> Iterator[None]:
    """Call a function so many times a second, in a thread, while the block runs."""
    stop = Event()

    def flow() -> None:
        began, pace = time.monotonic(), Pace(rate=rate)
        for index in range(sys.maxsize):
            if stop.wait(max(0.0, began + pace.due(index, timedelta()) - time.monotonic())):
                return
            send()

    thread = Thread(target=flow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class LiveStream:
    """A driver of the unit `flights`, and the durations of its batches as its progress file tells them."""

    def __init__(self, process: subprocess.Popen[bytes], progress: Path) -> None:
        self._process = process
        self._progress = progress

    def watch(self, until: Callable[[Sequence[float]], bool]) -> list[float]:
        """Watch the batches with input that begin from now on.

        Args:
            until: ends the watching; it is given the durations so far, in seconds.
        """
        since, found = datetime.now(UTC), dict[int, float]()
        while not until(list(found.values())):
            if self._process.poll() is not None:
                raise RuntimeError(f"the driver ended with exit code {self._process.returncode}")
            if batch := self._newest(since):
                found |= [batch]
            time.sleep(_POLL_SECONDS)
        return list(found.values())

    def watch_batches(self, count: int) -> None:
        """Watch until so many batches have ended."""
        deadline = time.monotonic() + _READY_SECONDS

        def enough(durations: Sequence[float]) -> bool:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the driver ended only {len(durations)} batches in {_READY_SECONDS:.0f} s")
            return len(durations) >= count

        self.watch(enough)

    def _newest(self, since: datetime) -> tuple[int, float] | None:
        """Return number and duration (s) of the newest batch, if it has input and began after `since`."""
        try:
            batch = json.loads(self._progress.read_bytes())
        except FileNotFoundError:
            return None
        if not batch["rows"] or datetime.fromisoformat(batch["at"]) < since:
            return None
        return batch["batch_id"], batch["duration_ms"]["triggerExecution"] / 1000


class LivePlace:
    """A broker with the topic, a project whose trigger is 5 seconds, and a state folder.

    Attributes:
        folder: the state folder's names.
        project: the copy of this project that the stream runs.
        one_core: another, in which a driver has one core: the backfill's.
    """

    def __init__(self, root: Path, bootstrap: str, copies: int) -> None:
        self.folder = StateFolder(root / "state")
        changes = {"trigger": "5 seconds"}
        one_core = {**changes, "resources": "{cores: 1, driver_memory: 700m}"}
        self.project = dense_project(root / "project", copies, changes)
        self.one_core = dense_project(root / "one_core", copies, one_core)
        self.bootstrap = bootstrap
        write_endpoints(self.folder, Endpoints((bootstrap,), airflow_url=""))

    def drain(self) -> None:
        """Let the stream read all there is."""
        subprocess.run(self._driver(1, "--available-now"), env=self._environment(), check=True)

    @contextmanager
    def stream(self, generation: int) -> Iterator[LiveStream]:
        """Run the stream while the block runs."""
        progress = self.folder.progress_file(PIPELINE)
        progress.unlink(missing_ok=True)
        process = subprocess.Popen(self._driver(generation), env=self._environment(), start_new_session=True)
        try:
            yield LiveStream(process, progress)
            process.send_signal(signal.SIGTERM)
            if code := process.wait(_STOP_SECONDS):
                raise RuntimeError(f"the driver ended with exit code {code}")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _driver(self, generation: int, *options: str) -> list[str]:
        main = str(self.project / "spark_jobs" / "stream.py")
        return [sys.executable, main, "--unit", "flights", "--generation", str(generation), *options]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **surroundings(self.folder.root, self.project)}  # noqa: TID251  a child inherits it


@contextmanager
def live_place(root: Path, copies: int) -> Iterator[LivePlace]:
    """Start a broker with the declared topics, for traffic with `copies` of every flight, and stop it at the end."""
    with private_topics(root) as topics:
        yield LivePlace(root, topics.bootstrap, copies)
