"""What tasks and the watcher open at run time. Nothing here runs while a DAG file is parsed.

A task must work while some other spec is broken, so it opens the sound specs only; a unit's driver is looked after even
when its own spec is broken or gone (`project.streams.life` takes a name).
"""

from __future__ import annotations

from sluice.project.project import Project
from sluice.settings import settings


def open_project() -> Project:
    """Open the project with those specs that are sound.

    Raises:
        SpecError: the deployment does not stand.
    """
    return Project.open_tolerant(settings())
