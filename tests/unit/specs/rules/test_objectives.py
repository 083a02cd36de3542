"""What `sluice check` says of objectives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.bench import PIPELINE_FILE, Bench, sound_project


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ("objective: {share: 99 %, counts: correct}", 0),
        ("objective: {share: 99 %, counts: fresh}", 1),
        ("objective: 99 %\ndeadlines: {idle: 1 hour}", 1),
        ("objective: 99 %\ndeadlines: {age: 1 hour}", 0),
        ("objective: 99 %\ndeadlines: {lag_records: 10}", 0),
        ("objective: {share: 100 %, window: 1 day, counts: all}", 3),
    ],
)
def test_an_objective_that_counts_what_is_fresh_needs_a_limit(tmp_path: Path, lines: str, faults: int) -> None:
    project = sound_project(tmp_path / "project")
    project.edit(PIPELINE_FILE, "driver: shop\n", f"{lines}\ndriver: shop\n")
    found = [str(fault) for fault in project.scan().faults]
    assert len(found) == faults
    assert all("objective" in fault for fault in found)


def test_an_output_with_its_own_needs_one_too(tmp_path: Path) -> None:
    project: Bench = sound_project(tmp_path / "project")
    project.edit(PIPELINE_FILE, "  interval: hour\n", "  interval: hour\n  objective: 99 %\n")
    (fault,) = project.scan().faults
    assert "output.objective: it counts how fresh an output is" in str(fault)
