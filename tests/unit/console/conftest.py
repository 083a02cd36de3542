"""A console over a fleet of a dozen units, and visitors who may see and do more or less."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from sluice.console.app import create_console
from sluice.console.context.access import Visitor
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from tests.twins.clock import ManualClock
from tests.twins.console_fleet import ConsoleFleet, build_fleet

UNITS = 12


@dataclass(frozen=True)
class FakeVisitor:
    """Sees and runs those DAGs that end so; None: all."""

    name: str = "ada"
    login_free: bool = False
    sees: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None

    def readable(self, dag_ids: Collection[str]) -> Collection[str]:
        return [dag for dag in dag_ids if self.sees is None or dag.endswith(self.sees)]

    def may_run(self, dag_id: str) -> bool:
        return self.runs is None or dag_id.endswith(self.runs)


@dataclass
class RecordingAsks:
    """Remembers what was asked for."""

    asked: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)

    def run(self, dag_id: str, form: Mapping[str, Any], *, by: str) -> str:
        self.asked.append((dag_id, form, by))
        return "manual__1"


@pytest.fixture(scope="session")
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory, clock: ManualClock) -> ConsoleFleet:
    return build_fleet(tmp_path_factory.mktemp("fleet"), UNITS, clock)


@pytest.fixture(scope="session")
def fresh(fleet: ConsoleFleet) -> ReloadingProject:
    return ReloadingProject(lambda: Project.open_strict(fleet.settings), place=lambda: fleet.settings)


@pytest.fixture
def asks() -> RecordingAsks:
    return RecordingAsks()


@pytest.fixture
def console(fresh: ReloadingProject, clock: ManualClock, asks: RecordingAsks) -> Callable[[Visitor | None], TestClient]:
    """Return a browser of a visitor; of one who was not admitted for None."""

    def of(visitor: Visitor | None) -> TestClient:
        async def gate(_request: Request) -> Visitor:
            if visitor is None:
                raise HTTPException(401, "Not authenticated")
            return visitor

        app = create_console(fresh, gate, runner=asks, clock=clock)
        return TestClient(app, base_url="http://console.test", follow_redirects=False, headers={"accept": "text/html"})

    return of
