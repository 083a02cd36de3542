"""Backfills race the stream for minutes on neighbouring intervals, and no version of the table is a mix.

A real driver closes an interval every three seconds. Beside it, one real backfill after the other recomputes or
verifies the last day of closed intervals, up to the newest one. A reader reads the table at every new version.
Afterwards the table's log is walked: whose files each commit touched, and what it brought. The oracle is pandas.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import cycle, pairwise
from pathlib import Path
from threading import Event
from typing import TypeVar
from urllib.parse import unquote

import pandas as pd
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from sluice.clock import SystemClock
from sluice.delta.log import newest_first
from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import (
    AttemptEntry,
    BackfillEntry,
    Entry,
    SettleEntry,
    VerifiedEntry,
    from_json,
)
from sluice.intervals.ledger import Ledger
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.streams.failures.exits import ExitCode
from tests.e2e.machine import SLUICE, Machine
from tests.integration.brokers import free_ports, running
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import KEYS, departures, differences
from tests.waiting import eventually
from tests.walkthrough import Reader

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1200)]

HOUR = timedelta(hours=1)
DAYS = ("2013-01-01", "2013-01-31")
"""More than a race can take."""
SPEED = 1200
"""Seconds of flights per second."""
RACE_SECONDS, DEADLINE_SECONDS = 200.0, 700.0
MODES = (Mode.RECOMPUTE, Mode.RECOMPUTE, Mode.VERIFY)
BACKFILLS = 4
"""At least, however slow the machine is. A recompute makes a commit of the day, and one of what was closed since."""

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True)
class Track:
    """A copy of the project in which a commit of a backfill spans a day at most, with a broker of its own."""

    place: Settings

    @property
    def table(self) -> Path:
        return self.place.folder.table("departures")

    @cached_property
    def project(self) -> Project:
        return Project.open_strict(self.place)

    def ledger(self) -> Ledger:
        return self.project.tables.ledger("departures")

    def job(self, main: str, *arguments: str) -> list[str]:
        return [sys.executable, str(self.place.home / "spark_jobs" / main), *arguments]

    @contextmanager
    def process(self, name: str, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a process while the block runs; on the way out it is gone, with all that it started."""
        with self._log(name).open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def said(self, name: str) -> str:
        """Return the end of what a process printed."""
        return self._log(name).read_text(encoding="utf-8")[-4000:]

    def _log(self, name: str) -> Path:
        return self.place.home / f"{name}.log"

    def backfill(self, mode: Mode, number: int) -> None:
        """Take the last day of closed intervals, and what is closed by the time that the process reads it."""
        ledger = self.ledger()
        assert ledger.closed_until is not None
        start, end = max(min(ledger.rows), ledger.closed_until - 24 * HOUR), ledger.closed_until + 96 * HOUR
        span = ["--from", start.isoformat(), "--to", end.isoformat()]
        asked = ["--mode", mode, "--by", "test", "--why", "a race", "--key", str(number)]
        command = self.job("batch.py", "backfill", "--pipeline", "departures", *span, *asked)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture
def track(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Track]:
    home, state = Reader.in_copy(tmp_path / "project").home, tmp_path / "state"
    monkeypatch.setenv("SLUICE_HOME", str(home))
    monkeypatch.setenv("SLUICE_STATE", str(state))
    spec = home / "include" / "pipelines" / "departures.yaml"
    # 15 minutes of the feed are less than a second here: a busy machine would send a partition's records later.
    patient = spec.read_text().replace("arrival_disorder: 15 minutes", "arrival_disorder: 6 hours")
    assert patient != spec.read_text()
    spec.write_text(f"{patient}backfill: {{chunk: 1 day}}\n")
    broker = BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        track = Track(Settings(home=home, state=state))
        write_endpoints(track.place.folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
        done = Machine(state).sluice("topics", "apply")
        assert done.returncode == 0, done.stderr
        yield track


@pytest.mark.proves("backfill-races")
def test_backfills_beside_a_stream_touch_only_their_intervals_and_no_version_is_a_mix(
    track: Track, faults: FaultRecorder
) -> None:
    oracle, over = departures(*DAYS), Event()
    driver = track.job("stream.py", "--unit", "flights", "--generation", "1")
    flights = [str(SLUICE), "feed", "send", "flights", "--from", DAYS[0], "--to", DAYS[1], "--speed", str(SPEED)]
    with (
        track.process("stream", driver) as stream,
        track.process("feed", flights) as feed,
        ThreadPoolExecutor(1) as pool,
    ):
        eventually(lambda: stream.poll() is not None or track.ledger().closed_until is not None)
        reader = pool.submit(read_until, over, track.table, oracle)
        try:
            race(track, alive=lambda: stream.poll() is None and feed.poll() is None and not reader.done())
            eventually(lambda: isinstance(next(newest_first(track.table)).entry, SettleEntry))  # the settler goes on
        finally:
            over.set()
        reads = reader.result()
        assert feed.poll() is None, track.said("feed")
        assert stream.poll() is None, track.said("stream")
        feed.terminate()
        stream.terminate()
        assert stream.wait(120) == ExitCode.STOPPED, track.said("stream")

    log = Log(track.table)
    assert faults_of(log, oracle) == []
    assert_both_made_progress_at_once(log, reads)
    closed, held = track.ledger().closed_until, read_rows(track.table).to_pandas()
    assert closed is not None
    wanted, there = (frame[frame["hour"] < closed] for frame in (oracle, held))
    assert differences(there, wanted) == []
    turns = f"{len(log.of(SettleEntry))} commits of the stream and {len(log.of(BackfillEntry))} of backfills"
    faults.struck(f"{turns} took turns in one table")
    rows = Census.of(*(frame[KEYS].itertuples(index=False, name=None) for frame in (wanted, there)))
    faults.counted(rows, what="rows of published intervals")


def race(track: Track, *, alive: Callable[[], bool]) -> None:
    """Run one backfill after the other; return when there were enough, or one of the others has ended."""
    clock = SystemClock()
    began = clock.monotonic()
    for number, mode in enumerate(cycle(MODES)):
        elapsed = clock.monotonic() - began
        if not alive() or (elapsed > RACE_SECONDS and number >= BACKFILLS):
            return
        assert elapsed < DEADLINE_SECONDS, f"only {number} backfills in {elapsed:.0f} s"
        track.backfill(mode, number)


def read_until(over: Event, folder: Path, oracle: pd.DataFrame) -> int:
    """Read the table whenever it has a new version, and return how often; all that it holds is the oracle's."""
    table, seen, reads = DeltaTable(str(folder)), -1, 0

    def moved() -> bool:
        table.update_incremental()
        return over.is_set() or table.version() > seen

    while True:
        eventually(moved)
        if over.is_set():
            return reads
        seen = table.version()
        found = read_rows(folder).to_pandas()
        wrong = differences(found, oracle[oracle["hour"] <= found["hour"].max()])
        assert wrong == [], f"at version {seen}, or soon after it: {wrong}"
        reads += 1


@dataclass(frozen=True)
class Commit:
    """A commit as the log has it: the files that came and went, below the table's folder, by interval."""

    version: int
    at: datetime
    entry: Entry | None
    added: dict[datetime, set[str]]
    removed: dict[datetime, set[str]]

    @property
    def touched(self) -> set[datetime]:
        return {*self.added, *self.removed}


class Log:
    """A table's log, read from its files."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self.commits = [_read(path) for path in sorted((table / "_delta_log").glob("*.json"))]

    def of(self, kind: type[E]) -> dict[int, E]:
        """Return the entries of one kind, by version."""
        return {commit.version: commit.entry for commit in self.commits if isinstance(commit.entry, kind)}

    def rows(self, commit: Commit) -> pd.DataFrame:
        """Return what a commit brought; at least one file."""
        files = [(start, path) for start, paths in commit.added.items() for path in paths]
        frames = [pq.ParquetFile(self._table / path).read().to_pandas().assign(hour=start) for start, path in files]
        return pd.concat(frames, ignore_index=True)


def _read(path: Path) -> Commit:
    files: dict[str, dict[datetime, set[str]]] = {"add": defaultdict(set), "remove": defaultdict(set)}
    info = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        ((kind, action),) = json.loads(line).items()
        if kind in files:
            start = datetime.fromisoformat(action["partitionValues"]["hour"]).replace(tzinfo=UTC)
            files[kind][start].add(unquote(action["path"]))
        elif kind == "commitInfo":
            info = action
    at = datetime.fromtimestamp(info["timestamp"] / 1000, UTC)
    return Commit(int(path.stem), at, from_json(info.get("userMetadata")), dict(files["add"]), dict(files["remove"]))


def faults_of(log: Log, oracle: pd.DataFrame) -> list[str]:
    """Walk the log: a commit touches only its own intervals, replaces each as a whole, and brings the oracle's rows.

    So in every version each interval consists of the files of one commit, the old or the new, and they are right.
    """
    faults = []
    held: dict[datetime, set[str]] = {}
    closed = oracle["hour"].min().to_pydatetime()
    for commit in log.commits:
        entry, who = commit.entry, f"version {commit.version} ({getattr(commit.entry, 'kind', None)})"
        own = own_intervals(entry, closed)
        faults += [f"{who} touched {start:%FT%RZ}" for start in sorted(commit.touched - own)]
        for start in sorted(commit.touched):
            if commit.removed.get(start, set()) != held.get(start, set()):
                faults.append(f"{who} let stand what others had written of {start:%FT%RZ}")
            held[start] = commit.added.get(start, set())
        found = log.rows(commit) if commit.added else oracle.iloc[:0]
        faults += [f"{who}: {fault}" for fault in differences(found, oracle[oracle["hour"].isin(list(own))])]
        if isinstance(entry, SettleEntry | BackfillEntry):
            said = {start: content.rows for start, content in entry.content.items() if content.rows}
            if said != found.groupby("hour").size().to_dict():
                faults.append(f"{who} says that it brought {said}")
        if isinstance(entry, SettleEntry):
            closed = max(closed, entry.settled_until or closed)
    return faults


def own_intervals(entry: Entry | None, closed: datetime) -> set[datetime]:
    """Return what a commit may write: a settler what it settles just then, a backfill what it names and was closed."""
    match entry:
        case SettleEntry(settled_until=datetime() as until):
            return {closed + n * HOUR for n in range((until - closed) // HOUR)}
        case BackfillEntry(content=content):
            return {start for start in content if start < closed}
    return set()


def assert_both_made_progress_at_once(log: Log, reads: int) -> None:
    streamed, published, verified = log.of(SettleEntry), log.of(BackfillEntry), log.of(VerifiedEntry)
    at = {commit.version: commit.at for commit in log.commits}
    assert at[max(streamed)] - at[min(streamed)] >= timedelta(minutes=3)
    assert len(streamed) >= 20
    assert len(published) >= 3
    assert verified
    assert reads >= 20
    turns = pairwise(sorted({*streamed, *published}))
    assert sum(before in streamed and after in published for before, after in turns) >= 3
    assert min(streamed) < min(published) < max(published) < max(streamed)

    # Each backfill went up to the interval that was settled last when it read the ledger.
    reached = {e.backfill: max(e.content) + HOUR for e in published.values()}
    assert set(reached.values()) <= {entry.settled_until for entry in streamed.values()}

    # One generation wrote it all, and nothing came too late.
    assert [entry.generation for entry in log.of(AttemptEntry).values()] == [1]
    assert {entry.generation for entry in streamed.values()} == {1}
    assert not any(entry.overtaken for entry in streamed.values())
