"""The pipeline that a command names."""

from __future__ import annotations

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
    specs = scan(config.home / "include")
    return Project.of_sound(config, specs), specs.pipeline(name)
