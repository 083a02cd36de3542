"""Which tables `sluice sql` knows: all that specs declare, however they are written down, if they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.cli.sql import tables_of
from sluice.project import Project
from sluice.settings import Settings
from tests.unit.specs.bench import PIPELINE_FILE, sound_project
from tests.unit.specs.test_outputs import SEVERAL, SINGLE


@pytest.mark.parametrize(
    ("outputs", "tables"),
    [(SINGLE, {"orders_raw", "sales"}), (SEVERAL, {"orders_raw", "sales", "sales_live"})],
    ids=["output", "outputs"],
)
def test_every_declared_table_that_is_there_can_be_asked(tmp_path: Path, outputs: str, tables: set[str]) -> None:
    bench = sound_project(tmp_path)
    if outputs != SINGLE:
        bench.edit(PIPELINE_FILE, SINGLE, outputs)
    project = Project.open(Settings(home=tmp_path, state=tmp_path / "state", deployment="prod"))
    assert tables_of(project) == {}
    for name in (*tables, "of_nobody"):
        (project.folder.table(name) / "_delta_log").mkdir(parents=True)
    assert tables_of(project).keys() == tables
