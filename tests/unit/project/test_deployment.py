"""Without a sound deployment nothing is done, and what is wrong with it is said at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sluice.cli.terminal.pipelines import open_pipeline
from sluice.devstack.stack import up
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.specs.reading.faults import SpecFaults
from tests.unit.specs.bench import DEPLOYMENT_FILE, PIPELINE_FILE, Bench

WAYS: list[Callable[[Settings], object]] = [
    Project.open_tolerant,
    Project.open_strict,
    lambda _: open_pipeline("sales"),
    up,
]


@pytest.mark.parametrize("way", WAYS)
def test_a_broken_deployment_is_refused_by_its_faults(bench: Bench, way: Callable[[Settings], object]) -> None:
    bench.edit(DEPLOYMENT_FILE, "kafka:", "kafak: {}\nkafka:")
    with pytest.raises(SpecFaults, match=r"include/deployments/prod\.yaml:2: kafak: .*did you mean 'kafka'"):
        way(settings())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("bench")
def test_a_deployment_that_is_not_there_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, way: Callable[[Settings], object]
) -> None:
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "prd")
    with pytest.raises(SpecError, match=r"SLUICE_DEPLOYMENT is 'prd', and include/deployments has prod\."):
        way(settings())


def test_another_broken_spec_is_left_out(bench: Bench) -> None:
    bench.write(PIPELINE_FILE, "name: sales\nsource: 3\n")
    project = Project.open_tolerant(settings())
    assert project.deployment.name == "prod"
    assert "sales" not in project.catalog.pipelines
