"""A pipeline that was named on the command line."""

from __future__ import annotations

from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.specs.model.model import PipelineSpec


def open_pipeline(name: str) -> tuple[Project, PipelineSpec]:
    """Return the project and the pipeline's spec; other specs may be broken.

    Raises:
        SpecError: there is no such pipeline, or it is broken (with all its faults), or the deployment is wrong.
    """
    place = settings()
    specs = scan(place.home / "include")
    spec = specs.pipeline(name)
    return Project(place, specs.catalog), spec
