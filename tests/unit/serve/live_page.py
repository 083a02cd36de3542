"""A page of every kind of panel, over outputs that are filled by hand."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import pi, sin
from typing import Any, cast

from yaml import safe_load

from sluice.clock import Clock
from sluice.console.context.access import login_free_gate
from sluice.live.source import LiveSource, Row, SourceRead
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve.app import create_serve
from sluice.serve.hub import Hub, Live, LiveOutput
from sluice.serve.pages import Pages, ServedPage
from sluice.specs.model.model import PipelineSpec
from tests.http_servers import serving_app
from tests.twins.project import InMemoryProject

NOON = datetime(2013, 1, 21, 12, tzinfo=UTC)
OUTPUTS = (
    {"kind": "latest", "table": "departures_live", "keys": ["minute", "origin"]},
    {"kind": "latest", "table": "airlines_live", "keys": ["airline"]},
    {"kind": "topic", "topic": "planes_latest", "keys": ["plane"], "create": {"partitions": 1}},
)
PANELS = safe_load("""
- kind: number
  title: Departures in the newest minute
  output: departures_live
  value: departed
  newest_by: minute
  where: {origin: JFK}
  unit: flights
- {kind: number, title: Departures, output: departures_live, value: departed, aggregate: sum, unit: flights}
- {kind: number, title: Worst delay, output: departures_live, value: delay, aggregate: max, unit: min}
- {kind: number, title: Planes in the air, output: planes_latest, aggregate: count}
- kind: line
  title: Departures per minute
  output: departures_live
  x: minute
  y: [departed]
  by: origin
  unit: flights
  newest: 60
- kind: top
  title: Airlines
  output: airlines_live
  name: airline
  value: departed
  change: change
  unit: flights
  rows: 8
- {kind: positions, title: Planes, output: planes_latest, lon: lon, lat: lat, label: plane, state: state}
- kind: table
  title: Newest minutes
  output: departures_live
  columns: [minute, origin, departed, delay]
  order: -minute
  rows: 12
- {kind: bars, title: Mean delay, output: departures_live, x: origin, y: delay, aggregate: mean, unit: min}
""")
"""One of each kind, and more numbers."""

SUM = {"kind": "number", "title": "Sum", "output": "departures_live", "value": "departed", "aggregate": "sum"}
PLANES = {"kind": "number", "title": "Planes", "output": "planes_latest", "aggregate": "count"}
AIRLINES = ("United", "JetBlue", "ExpressJet", "Delta", "American", "Envoy", "US Airways", "Southwest", "AirTran")


async def take(stream: AsyncIterator[bytes], kind: str) -> dict[str, Any]:
    """Return the next event of a kind, with its id."""
    while True:
        text = (await asyncio.wait_for(anext(stream), 10)).decode()
        lines = dict(line.split(": ", 1) for line in text.strip().splitlines())
        if lines.get("event") == kind:
            return {"id": lines.get("id", ""), **json.loads(lines["data"])}


class SilentSource:
    """A source that nobody reads."""

    def read(self, seconds: float) -> SourceRead:
        raise AssertionError(f"the hub was not started, and nobody reads for {seconds} s")

    def close(self) -> None:
        """Nothing is open."""


class HubByHand(Hub):
    """Follows what a test gives it."""

    def _make(self, pipeline: PipelineSpec, name: str, output: LiveOutput) -> Live:
        live = super()._make(pipeline, name, output)
        live.follower.__dict__["start"] = lambda: None  # nobody reads its source
        return live

    def live(self, output: str) -> Live:
        """Return an output of the only pipeline."""
        found = self.find("departures", output)
        assert found is not None, output
        return found

    def put(self, output: str, *rows: Mapping[str, Any], at: datetime = NOON) -> None:
        """Let rows arrive."""
        self.live(output).follower.take(SourceRead([Row(row, at) for row in rows]))


def paged_pipeline(*panels: Mapping[str, Any], title: str | None = "Departures now") -> PipelineSpec:
    """Return a pipeline with a page of these panels; without a page if there are none."""
    spec: dict[str, Any] = {
        "name": "departures",
        "source": "flights",
        "transform": "departures:departures",
        "time": {"allowed_lateness": "1 hour", "future_skew": "5 minutes"},
        "outputs": OUTPUTS,
        "driver": "flights",
    }
    if panels:
        spec["page"] = {"title": title, "panels": panels}
    return PipelineSpec.model_validate_json(json.dumps(spec))


def hub_of(pipeline: PipelineSpec, clock: Clock) -> HubByHand:
    """Return a hub that follows the outputs of a pipeline, and is given their rows by `put`."""
    project = InMemoryProject()
    declare(project, pipeline)

    def opened(_project: Project, _output: LiveOutput) -> LiveSource:
        return SilentSource()

    fresh = ReloadingProject(lambda: cast(Project, project))
    hub = HubByHand(fresh, opened, lambda _pipeline, _event: None, lambda _pipeline: {}, clock)
    hub.refresh()
    return hub


def declare(project: InMemoryProject, pipeline: PipelineSpec) -> None:
    """Let the specs of a project say something else."""
    object.__setattr__(project.catalog, "pipelines", {pipeline.name: pipeline})


def fill(hub: HubByHand, now: datetime = NOON, *, minutes: Iterable[int] = range(60)) -> None:
    """Let a morning's flights arrive, the same each time."""
    chance = random.Random(7)
    for back in reversed(list(minutes)):
        minute = now - timedelta(minutes=back)
        for place, origin in enumerate(("EWR", "JFK", "LGA")):
            departed = round(14 - 3 * place + 5 * sin(2 * pi * (minute.minute + 20 * place) / 60) + chance.gauss(0, 1))
            delay = round(chance.expovariate(1 / (20 + 8 * place)))
            hub.put("departures_live", {"minute": minute, "origin": origin, "departed": departed, "delay": delay})
    for place, airline in enumerate(AIRLINES):
        change = round(chance.gauss(0, 0.15), 3)
        hub.put("airlines_live", {"airline": airline, "departed": 1540 // (place + 2), "change": change})
    for number in range(24):
        lon, lat = -74 + chance.gauss(0, 0.9), 40.7 + chance.gauss(0, 0.6)
        state = chance.choice(("climbing", "cruising", "cruising", "holding"))
        plane = f"N{100 + 37 * number}UA"
        hub.put("planes_latest", {"plane": plane, "lon": lon, "lat": lat, "state": state})


def put_departed(hub: HubByHand, departed: float, origin: str = "JFK") -> None:
    hub.put("departures_live", {"minute": NOON, "origin": origin, "departed": departed, "delay": 1})


def page_of(hub: HubByHand) -> ServedPage:
    page = Pages(hub).find("departures")
    assert page is not None
    return page


@contextmanager
def serving_page(hub: HubByHand, clock: Clock, port: int = 0) -> Iterator[str]:
    """Serve the page of a hub without a login; give its address."""
    with serving_app(create_serve(hub, login_free_gate, clock=clock), port) as address:
        yield address
