"""Verdicts that rest on the stream of another unit, observed now or by what is on record."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from sluice.cli.stack.fleet_watch import FleetMonitor
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation, ObservedSettler
from tests.twins.clock import START
from tests.twins.observations import observed, steadily
from tests.twins.project import InMemoryProject


class Apart(InMemoryProject):
    """A settled table whose raw stream has a unit of its own, and may be gone."""

    raw_is_there = True

    def observations(self, unit: str) -> dict[str, Observation]:
        seen = observed((self.clock.now() - START).total_seconds(), steadily(10), unit=unit)
        if unit == "flights":
            return {"departures": replace(seen, settler=ObservedSettler("departures", ("raw_flights",)))}
        return {"raw_flights": seen if self.raw_is_there else replace(seen, driver=None)}


def apart() -> Apart:
    catalog = load_catalog(settings().home / "include")
    topic = catalog.topics["flights"]
    own = topic.model_copy(update={"raw": topic.raw.model_copy(update={"driver": "a_raw_unit"})})
    project = Apart(Catalog(topics={"flights": own}, pipelines={"departures": catalog.pipelines["departures"]}))
    project.clock.sleep(580)
    for unit in ("flights", "a_raw_unit"):
        project.streams.life(unit).start("ada", "launch")
    return project


def test_a_command_observes_the_unit_of_the_raw_stream_too() -> None:
    project = apart()
    assert project.health.verdicts("flights")["departures"].health is Health.OK
    project.raw_is_there = False
    verdict = project.health.verdicts("flights")["departures"]
    assert verdict.health is Health.UNKNOWN
    assert "raw_flights has stored, and that stream is UNKNOWN: Could not check the driver" in verdict.why


def test_the_fleet_in_a_terminal_knows_the_raw_stream_by_the_same_round() -> None:
    project = apart()
    monitor = FleetMonitor(cast(Project, project), project.clock)
    assert {row.stream: row.verdict.health for row in monitor.rows()} == {
        "raw_flights": Health.OK,
        "departures": Health.OK,
    }
    project.raw_is_there = False
    project.clock.sleep(5)
    assert {row.verdict.health for row in monitor.rows()} == {Health.UNKNOWN}


def test_what_no_watcher_has_observed_is_unknown_on_record() -> None:
    project = apart()
    found = project.health.verdicts_on_record({"raw_flights"})
    assert {stream: verdict.health for stream, verdict in found.items()} == {"raw_flights": Health.UNKNOWN}
    assert project.health.verdicts_on_record({"raw_nothing"}) == {}
