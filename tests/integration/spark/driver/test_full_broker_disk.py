"""A broker's disk that fills under a driver: what was acknowledged is kept, and all goes on when there is room."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.producer import KafkaPythonProducer
from sluice.launch.processes import wait_until
from sluice.settings import settings
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import free_ports
from tests.integration.spark.conftest import DriverPlace, RunningDriver, place_at
from tests.integration.spark.driver.test_full_disk import SmallDisk, small_disk

_RECORD = b"x" * 1_000
"""No JSON: the raw table holds every record all the same."""


@contextmanager
def running_on(disk: SmallDisk, broker: BrokerProcess) -> Iterator[subprocess.Popen[bytes]]:
    """Run a broker whose folder is a disk of its own; on the way out it is gone, whatever happened."""
    command = disk.seeing_it(broker.command())
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            broker.wait_ready(90)
            yield process
        finally:
            process.kill()


def send(broker: BrokerProcess, first: int, count: int) -> set[bytes]:
    """Send records, each with its number as the key, until one is given up; return the keys that were acknowledged."""
    acknowledged = set()
    with (
        KafkaPythonProducer([broker.bootstrap], "flights", delivery_seconds=15) as producer,
        suppress(UnreachableError),
    ):
        for number in range(first, first + count):
            key = f"{number}".encode()
            producer.send(key, _RECORD).wait()
            acknowledged.add(key)
    return acknowledged


def raw_keys(place: DriverPlace) -> list[bytes]:
    """Return the keys in the raw table; none before it is there."""
    folder = place.state / "tables" / "flights_raw"
    return [] if not (folder / "_delta_log").is_dir() else list(read_rows(folder).to_pandas()["key"])


def holds(driver: RunningDriver, place: DriverPlace, keys: set[bytes]) -> None:
    driver.eventually(lambda: keys <= set(raw_keys(place)), f"the raw table holds {len(keys)} records")


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_a_broker_on_a_full_disk_keeps_what_it_acknowledged_and_the_driver_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "broker"
    broker = BrokerProcess(folder, *free_ports(), settings().jars)
    broker.prepare()
    with small_disk(folder, "64m") as disk:
        shutil.copytree(folder, disk.state, dirs_exist_ok=True)
        place = place_at(tmp_path / "state", broker)
        with running_on(disk, broker) as process, KafkaPythonAdministration((broker.bootstrap,)) as administration:
            administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
            kept = send(broker, 0, 500)
            assert len(kept) == 500
            with place.driver(1) as driver:
                holds(driver, place, kept)
                disk.leave(200 * 1024)
                kept |= send(broker, 500, 2_000)
                assert len(kept) < 2_500, "there was no room for all of them"
                gone = wait_until(lambda: process.poll() is not None, SystemClock(), deadline_seconds=180)
                assert gone, "a broker whose disk is full stops"
                assert driver.process.poll() is None, driver.log.read_text(errors="replace")[-3000:]
                disk.ballast.unlink()
                with running_on(disk, broker):
                    kept |= send(broker, 2_500, 500)
                    assert {f"{number}".encode() for number in range(2_500, 3_000)} <= kept
                    holds(driver, place, kept)
                    assert driver.stop() == ExitCode.STOPPED
        found = raw_keys(place)
        assert len(found) == len(set(found)), "no record is stored twice"
        assert kept <= set(found)
