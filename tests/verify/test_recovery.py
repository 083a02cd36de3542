"""A driver dies while Airflow watches: the run turns red, the next generation starts, and the data stay exact."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from sluice.devstack.airflow.api import AirflowApi
from tests.e2e.machine import Machine
from tests.oracle import departures, differences, flights

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("recovery") / "state")
    yield machine
    machine.sluice("down")


def test_a_killed_driver_is_seen_and_replaced_and_the_next_day_is_exact(machine: Machine) -> None:
    machine.demo(("2013-01-01", "2013-01-01"))
    api = AirflowApi(machine.ask("status")["stack"]["airflow"])
    before = api.runs("stream_flights")
    pid = machine.ask("streams", "show", "flights")["driver"]["pid"]
    os.kill(pid, signal.SIGKILL)

    machine.eventually(lambda: api.run("stream_flights", before[-1]).state == "failed", 60)
    machine.eventually(lambda: len(machine.ask("streams", "show", "flights")["attempts"]) == 2, 240)
    assert len(api.runs("stream_flights")) == len(before) + 1

    report = machine.demo(("2013-01-02", "2013-01-02"))
    days = ("2013-01-01", "2013-01-02")
    assert report["stream"]["generation"] == 2
    assert report["produced"] == len(flights(*days))
    assert differences(machine.table(report, "departures"), departures(*days, with_late=True)) == []
    assert len(machine.table(report, "flights_raw")) == len(flights(*days)) + 2  # a heartbeat per range
