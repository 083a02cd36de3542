"""The fleet in a terminal, over a project in memory."""

from __future__ import annotations

from io import StringIO
from typing import cast

import pytest
from rich.console import Console

from sluice.cli.stack.fleet_watch import FleetMonitor, change_line, changed, fleet_panel
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation
from tests.twins.clock import START
from tests.twins.observations import observed, steadily
from tests.twins.project import InMemoryProject


class Fleet(InMemoryProject):
    """Two streams of one unit; departures may stand still."""

    unread = 0

    def observations(self, unit: str) -> dict[str, Observation]:
        at = (self.clock.now() - START).total_seconds()
        done = steadily(10)
        return {
            "departures": observed(at, done, done[-1].end + self.unread, unit=unit),
            "raw_flights": observed(at, done, unit=unit),
        }


@pytest.fixture
def fleet() -> Fleet:
    catalog = load_catalog(settings().home / "include")
    project = Fleet(Catalog(topics=catalog.topics, pipelines={"departures": catalog.pipelines["departures"]}))
    project.clock.sleep(580)
    project.streams.life("flights").start("ada", "launch")
    return project


def shown(fleet: Fleet, monitor: FleetMonitor, width: int) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(fleet_panel(monitor.rows(), fleet.clock.now(), width))
    return console.export_text()


def test_what_stands_still_comes_first_with_the_reason_beside_or_below(fleet: Fleet) -> None:
    monitor = FleetMonitor(cast(Project, fleet), fleet.clock)
    assert "All 2 streams are fine" in shown(fleet, monitor, 200)
    fleet.unread = 700
    for _ in range(60):
        fleet.clock.sleep(10)
        monitor.rows()
    for width in (200, 80):
        text = shown(fleet, monitor, width)
        assert "1 of 2 streams need attention" in text
        assert text.index("departures") < text.index("raw_flights")
        assert ("STALLED" in text, "700" in text) == (True, True)
        assert "where 30 s are usual" in " ".join(text.split())


def test_without_a_terminal_a_line_is_printed_for_each_change_alone(fleet: Fleet) -> None:
    monitor, before, printed = FleetMonitor(cast(Project, fleet), fleet.clock), {}, []
    for minute in range(30):
        fleet.unread = 700 if 10 <= minute < 20 else 0
        rows = monitor.rows()
        printed += [change_line(row, fleet.clock.now()) for row in changed(rows, before)]
        before: dict[str, Health] = {row.stream: row.verdict.health for row in rows}
        fleet.clock.sleep(60)
    words = [line.split()[1:3] for line in printed if " departures " in line]
    assert words[0] == ["departures", "OK"]
    assert ["departures", "STALLED"] in words
    assert words[-1][1] in {"OK", "IDLE"}
    assert len(words) <= 6
    assert all(line.startswith("20") and "Z " in line for line in printed)
