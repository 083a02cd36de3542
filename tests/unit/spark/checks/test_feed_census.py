"""What a census needs before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.errors import NotReadyError
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.spark.checks.feed_census import census_of_feed
from tests.unit.specs.bench import PIPELINE_FILE, sound_project


def test_a_feed_that_no_pipeline_reads_is_said(tmp_path: Path) -> None:
    bench = sound_project(tmp_path)
    (tmp_path / PIPELINE_FILE).unlink()
    assert bench.scan().faults == ()
    project = Project.open_strict(Settings(home=tmp_path, deployment="prod"))
    with pytest.raises(NotReadyError, match="no pipeline reads the topic orders"):
        census_of_feed(project, "replay")
