"""A process that outlives many edits has the project as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.project.project import Project
from sluice.project.reloading import CHECK_SECONDS, ReloadingProject
from sluice.settings import settings
from tests.twins.clock import ManualClock
from tests.unit.specs.bench import TRANSFORM, TRANSFORM_FILE, Bench, sound_project


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    own = sound_project(tmp_path / "project")
    monkeypatch.setenv("SLUICE_HOME", str(own.home))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "prod")
    return own


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
