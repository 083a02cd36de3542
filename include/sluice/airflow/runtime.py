"""What tasks and the watcher open at run time. Nothing here runs while a DAG file is parsed.

A task must work while some other spec is broken, so it opens the sound specs only; and a unit's driver is looked after
even when its own spec is broken or gone, so its life is built from its name alone.
"""

from __future__ import annotations

from sluice.project import Project
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.streams.life import UnitLife


def open_project() -> Project:
    """Open the project with those specs that are sound.

    Raises:
        SpecError: the deployment does not stand.
    """
    place = settings()
    return Project(place, scan(place.home / "include").catalog)


def life_of(project: Project, unit: str) -> UnitLife:
    """Return the life of a unit, whether or not a spec names it now.

    Raises:
        UnreachableError: the control database could not be asked.
    """
    return UnitLife(
        project.registry(),
        project.launcher(),
        deployment=project.settings.deployment,
        unit=unit,
        job=project.job,
    )
