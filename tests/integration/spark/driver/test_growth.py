"""A real topic grows under a real driver: its streams read the new partitions from their start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.health import ProjectHealth
from sluice.project.project import Project
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.growth.adoption import Growth, GrowthAdoption, growths_of
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.declared import Declared
from sluice.settings import Settings
from sluice.streams.health.observation import Observation
from sluice.streams.life.launcher import DriverReport, DriverState
from tests.integration.spark.conftest import DriverPlace, RunningDriver, publish_two_days, two_days_of_values
from tests.matrix.recording import FaultRecorder

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600)]


class Seen(ProjectHealth):
    """What is observed; a driver that a test has started stands in for the launcher's."""

    state = DriverState.RUNNING

    def observations(self, unit: str, **arguments: object) -> dict[str, Observation]:  # type: ignore[override]
        found = super().observations(unit, **arguments)  # type: ignore[arg-type]
        return {stream: replace(seen, driver=DriverReport("key", self.state)) for stream, seen in found.items()}


@pytest.fixture
def place(own_broker: BrokerProcess, tmp_path: Path) -> DriverPlace:
    place = DriverPlace(tmp_path / "state")
    write_endpoints(Settings(state=place.state).folder, Endpoints((own_broker.bootstrap,), ""))
    publish_two_days(own_broker.bootstrap)
    return place


@pytest.fixture
def driver(place: DriverPlace) -> Iterator[RunningDriver]:
    with place.driver(1) as driver:
        yield driver


def grow(place: DriverPlace, broker: BrokerProcess) -> tuple[Project, list[Growth]]:
    """Give the topic two more partitions by a plan, and each of them ten records."""
    project = Project.open_strict(Settings(home=place.home, state=place.state))
    project.health = Seen(**{each.name: getattr(project.health, each.name) for each in fields(ProjectHealth)})
    flights = project.catalog.topics["flights"].model_copy(update={"partitions": 6})
    wanted = Declared({"flights": flights})
    with KafkaPythonAdministration([broker.bootstrap]) as cluster:
        approval = Approval(current_plan(wanted, cluster).id)
        done, _ = apply(wanted, cluster, approval=approval)
    return project, [project.topics.with_unread(growth) for growth in growths_of(done)]


def send(broker: BrokerProcess) -> None:
    from kafka import KafkaProducer  # noqa: PLC0415

    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number in range(20):
            producer.send("flights", b"{}", partition=4 + number % 2).get(30)


@pytest.mark.proves("partitions-added")
def test_the_growth_ends_when_the_streams_read_the_new_partitions_from_their_start(
    place: DriverPlace, driver: RunningDriver, own_broker: BrokerProcess, faults: FaultRecorder
) -> None:
    driver.eventually((place.state / "checkpoints/departures/commits/0").exists, "commits")
    project, growths = grow(place, own_broker)
    assert [(growth.before, growth.after) for growth in growths] == [(4, 6)]
    send(own_broker)
    said: list[str] = []
    project.topics.wait_for_adoption(growths, seconds=120, notify=said.append, clock=SystemClock())
    assert "raw_flights reads flights/4, flights/5 from the start" in said[-1]
    faults.struck(said[-1])
    driver.eventually(lambda: len(new_rows(place)) == 20, "has stored what came into the new partitions")
    assert sorted(map(tuple, new_rows(place))) == [(partition, offset) for partition in (4, 5) for offset in range(10)]
    faults.recovered()
    faults.counted(place.census([*two_days_of_values(), *[b"{}"] * 20]))
    assert driver.stop() == 0


def new_rows(place: DriverPlace) -> list[list[int]]:
    raw = place.table("flights_raw")
    found: list[list[int]] = raw[raw["partition"] >= 4][["partition", "offset"]].to_numpy().tolist()
    return found


def test_a_stream_that_is_down_does_not_read_them_and_that_is_said(
    place: DriverPlace, own_broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place.run().returncode == 0
    project, growths = grow(place, own_broker)
    with pytest.raises(NotReadyError, match="departures has yet to begin with flights/4, flights/5"):
        project.topics.wait_for_adoption(growths, seconds=0, notify=lambda _said: None, clock=SystemClock())
    monkeypatch.setattr(Seen, "state", DriverState.LOST)
    assert {each.state for each in project.topics.adoption(growths)} == {GrowthAdoption.WAITS}
    assert {each.observed for each in project.topics.adoption(growths)} == {"is down, although it should run"}
