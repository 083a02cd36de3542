"""The pipeline that a command names."""

from __future__ import annotations

from sluice.interactive.trial import sound_pipeline
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.specs.model.model import PipelineSpec


def open_pipeline(name: str) -> tuple[Project, PipelineSpec]:
    """Return the project and the pipeline's spec; other specs may be broken.

    Raises:
        SpecError: the pipeline does not exist or is broken (with all its faults), or the deployment is wrong.
    """
    config = settings()
    scanned = scan(config.home / "include")
    spec, _ = sound_pipeline(scanned, name)
    return Project(config, scanned.catalog), spec
