"""Airflow is killed part by part, and put to sleep, while a real stream works and its feed publishes.

Nothing of it may reach the driver: one process, one generation, one key, no stop, and batches go on. What watched is
there again afterwards and judges; and what the feed says it sent is in the raw table, once.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sluice.delta.reading import read_rows
from sluice.feeds.manifest import Manifest
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from sluice.streams.health.health import FINE
from tests.e2e.machine import SLUICE, Machine
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences, flights
from tests.verify.orchestrator import UNIT, Orchestrator, unchanged
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1200)]

DAYS = ("2013-01-01", "2013-01-03")
SPEED = 400
"""Seconds of flights per second: three days outlast what is done to Airflow, and the rest is sent at once."""
SLEEP_SECONDS = 65.0
KILLED = {"scheduler": "scheduler-killed", "dag-processor": "scheduler-killed", "api-server": "records-silent"}
"""Components of Airflow, and the rows that their deaths are of."""


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("kills") / "state")
    try:
        for command in (("up",), ("topics", "apply")):
            done = machine.sluice(*command, deadline=400)
            assert done.returncode == 0, done.stderr[-4000:]
        yield machine
    finally:
        machine.sluice("down")


@contextmanager
def publishing(machine: Machine) -> Iterator[None]:
    """Let the feed publish while the block runs, and not a moment less."""
    command = [str(SLUICE), "feed", "send", "flights", "--from", DAYS[0], "--to", DAYS[1], "--speed", str(SPEED)]
    environment = {**os.environ, "SLUICE_STATE": str(machine.state)}
    feed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        assert feed.poll() is None, "the feed ended before all was done"
    finally:
        feed.terminate()  # not by SIGINT: whatever is started in the background of a shell ignores that
        feed.wait(30)


def batches(orchestrator: Orchestrator) -> int:
    """Return the number of the newest batch of the raw stream that is done."""
    commits = orchestrator.project.folder.checkpoint(f"raw_{UNIT}") / "commits"
    return max((int(file.name) for file in commits.glob("[0-9]*")), default=-1)


def goes_on(orchestrator: Orchestrator) -> None:
    """Wait until the stream has done another batch."""
    before = batches(orchestrator)
    eventually(lambda: batches(orchestrator) > before, "batches go on")


@pytest.mark.proves("scheduler-killed", "triggerer-killed", "records-silent")
def test_airflow_is_killed_part_by_part_and_sleeps_and_the_stream_goes_on(
    machine: Machine, faults: FaultRecorder
) -> None:
    orchestrator = Orchestrator(Settings(state=machine.state))
    with publishing(machine):
        orchestrator.start()
        eventually(lambda: batches(orchestrator) > 0, "the stream works")
        with unchanged(orchestrator) as before:
            for component, row in KILLED.items():
                faults.struck(orchestrator.kill(component), row)
                goes_on(orchestrator)
                orchestrator.reconcile()  # which takes all of Airflow
                eventually(orchestrator.watched, f"it is watched after {component} was killed")
                faults.recovered(row)
            faults.struck(kill_the_triggerer(orchestrator), "triggerer-killed")
            goes_on(orchestrator)
            let_the_triggerer_sleep_beside_another(orchestrator)
            faults.struck(f"it slept for {SLEEP_SECONDS:g} s, and another one watched", "triggerer-killed")
            goes_on(orchestrator)
            orchestrator.reconcile()
            eventually(orchestrator.watched, "it is watched at the end")
        assert before.keys == (f"local.{UNIT}.g1",)
    send_the_rest(machine)
    faults.counted(assert_exact(machine, orchestrator))
    faults.alarms(unwell(orchestrator))
    stopped = orchestrator.project.streams.life(UNIT).stop("a test", "it is over", 60)
    assert stopped.exit_code == ExitCode.STOPPED
    assert orchestrator.project.records.registry().attempts(UNIT, newest=2)[0].generation == 1


def unwell(orchestrator: Orchestrator) -> list[str]:
    """Return the verdicts that ask for a person."""
    verdicts = orchestrator.project.health.verdicts(UNIT)
    return [f"{stream}: {found.health}, {found.why}" for stream, found in verdicts.items() if found.health not in FINE]


def kill_the_triggerer(orchestrator: Orchestrator) -> str:
    """Kill it; the one that is started in its place takes the watch over and judges. Return what shows the death."""
    killed = orchestrator.watches()[0]["trigger"]["triggerer_id"]
    orchestrator.forget_verdicts()
    evidence = orchestrator.kill("triggerer")
    eventually(lambda: watched_by_another_than(orchestrator, killed), "another triggerer watches")
    eventually(orchestrator.has_verdicts, "it judges")
    return evidence


def let_the_triggerer_sleep_beside_another(orchestrator: Orchestrator) -> None:
    """Stop the only triggerer for more than a minute; a second one takes over, and the first one wakes up beside it."""
    sleeping = orchestrator.watches()[0]["trigger"]["triggerer_id"]
    with orchestrator.asleep("triggerer"):
        begun = time.monotonic()
        orchestrator.forget_verdicts()
        goes_on(orchestrator)
        with orchestrator.another("triggerer"):
            eventually(lambda: watched_by_another_than(orchestrator, sleeping), "the second triggerer watches")
            eventually(orchestrator.has_verdicts, "the second triggerer judges")
            eventually(lambda: time.monotonic() - begun > SLEEP_SECONDS, "it has slept long enough")
            orchestrator.wake("triggerer")
            eventually(orchestrator.healthy, "Airflow is well with both")
            eventually(orchestrator.watched, "one watches")
        orchestrator.forget_verdicts()
    eventually(orchestrator.watched, "the first one watches alone")
    eventually(orchestrator.has_verdicts, "the first one judges")


def watched_by_another_than(orchestrator: Orchestrator, triggerer: int) -> bool:
    watches = orchestrator.watches()
    return len(watches) == 1 and watches[0]["trigger"]["triggerer_id"] != triggerer


def send_the_rest(machine: Machine) -> None:
    done = machine.sluice("feed", "send", "flights", "--from", DAYS[0], "--to", DAYS[1], deadline=300)
    assert done.returncode == 0, done.stderr[-4000:]


def assert_exact(machine: Machine, orchestrator: Orchestrator) -> Census:
    """Compare the tables with the feed's manifest, and with what pandas makes of the package's flights.

    Returns what became of the flights.
    """
    manifest = Manifest.model_validate_json(machine.sluice("feed", "manifest", "flights", "-o", "json").stdout)
    sent, folder = flights(*DAYS), orchestrator.project.folder
    assert manifest.records == len(sent)
    total = sum(manifest.known_offsets.values())
    eventually(lambda: len(read_rows(folder.table("flights_raw"))) >= total, "the raw table has all")
    raw = read_rows(folder.table("flights_raw")).to_pandas()
    for partition, offsets in raw.groupby("partition")["offset"]:
        assert sorted(offsets) == list(range(manifest.known_offsets[int(partition)]))
    assert len(raw) == total
    values = [json.loads(value) for value in raw["value"]]
    census = Census.of(sent.index, [value["flight_id"] for value in values if "flight_id" in value])
    assert census.is_clean
    expected = departures(*DAYS)
    eventually(
        lambda: not differences(read_rows(folder.table("departures")).to_pandas(), expected), "all hours are published"
    )
    return census
