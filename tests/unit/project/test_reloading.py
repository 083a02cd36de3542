"""A process that outlives many edits has the project as it is now."""

from __future__ import annotations

import pytest

from sluice.project.project import Project
from sluice.project.reloading import CHECK_SECONDS, ReloadingProject
from sluice.settings import settings
from tests.twins.clock import ManualClock
from tests.unit.specs.bench import TRANSFORM, TRANSFORM_FILE, Bench


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def project(bench: Bench, clock: ManualClock) -> ReloadingProject:
    assert bench.home == settings().home
    return ReloadingProject(lambda: Project.open_tolerant(settings()), clock)


def test_a_pipeline_whose_transform_is_repaired_is_declared_again(
    bench: Bench, clock: ManualClock, project: ReloadingProject
) -> None:
    bench.write(TRANSFORM_FILE, "def sales(:\n")
    assert "sales" not in project.current().catalog.pipelines
    bench.write(TRANSFORM_FILE, TRANSFORM)
    clock.sleep(CHECK_SECONDS)
    assert "sales" in project.current().catalog.pipelines


@pytest.mark.parametrize("name", [".#orders.yaml", "gone.yaml"])
def test_an_entry_that_leads_nowhere_keeps_nobody_from_the_project(
    bench: Bench, clock: ManualClock, project: ReloadingProject, name: str
) -> None:
    opened = project.current()
    (bench.home / "include" / "topics" / name).symlink_to("ada@laptop.4711:1")
    clock.sleep(CHECK_SECONDS)
    assert project.current() is opened
