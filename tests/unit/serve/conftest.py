"""A hub over one pipeline with two live outputs, fed by hand, and visitors who may see more or less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from sluice.console.context.access import Visitor
from sluice.live.source import LiveSource
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve import pages as pages_module
from sluice.serve.app import create_serve
from sluice.serve.hub import Hub, LiveOutput
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec
from tests.twins.clock import ManualClock
from tests.twins.project import InMemoryProject
from tests.unit.serve.live_page import NOON, HubByHand, SilentSource, hub_of, paged_pipeline

INCLUDE = Path(__file__).parents[3] / "include"
RULE = {"name": "long_delays", "output": "departures_live", "when": {"delay_max_min": {"above": 60}}}


def silent(_project: Project, _output: LiveOutput) -> LiveSource:
    return SilentSource()


def with_rules(*rules: dict[str, object]) -> PipelineSpec:
    departures = load_catalog(INCLUDE).pipelines["departures"]
    return PipelineSpec.model_validate({**departures.model_dump(mode="json", exclude={"output"}), "alerts": rules})


class ByHand(Hub):
    """Follows what a test gives it."""

    def start(self) -> None:
        raise AssertionError("nobody follows")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("sluice.live.follower.Follower.start", lambda _: None)
    project = InMemoryProject()
    object.__setattr__(project.catalog, "pipelines", {"departures": with_rules(RULE)})
    fresh = ReloadingProject(lambda: cast(Project, project))
    hub = ByHand(fresh, silent, lambda _pipeline, _event: None, lambda _pipeline: {}, ManualClock())
    hub.refresh()
    yield hub
    hub.stop()


@pytest.fixture
def browser(hub: Hub) -> Callable[[Visitor | None], TestClient]:
    """Return a browser of a visitor; of one who was not admitted for None."""

    def of(visitor: Visitor | None) -> TestClient:
        async def gate(_request: Request) -> Visitor:
            if visitor is None:
                raise HTTPException(401, "log in")
            return visitor

        return TestClient(create_serve(hub, gate, clock=ManualClock()), base_url="http://serve.test")

    return of


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def follow(clock: ManualClock) -> Iterator[Callable[..., HubByHand]]:
    """Return what makes a hub over a page of some panels."""
    hubs: list[HubByHand] = []

    def over(*panels: dict[str, Any]) -> HubByHand:
        hubs.append(hub_of(paged_pipeline(*panels), clock))
        return hubs[-1]

    yield over
    for hub in hubs:
        hub.stop()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "RENDER_SECONDS", 0.0)
