"""What the processes that we start find in their environment: drivers and batches, each what it needs and no more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sluice.errors import NotConfiguredError
from sluice.settings import environment, is_set, lineage_variables
from sluice.specs.catalog.variables import Variables, variables_of_batch, variables_of_unit

if TYPE_CHECKING:
    from sluice.project.project import Project


def own_settings(project: Project) -> dict[str, str]:
    """Return our settings for a process that we start. No secret is among them."""
    settings = project.settings
    return {
        "SLUICE_HOME": str(settings.home),
        "SLUICE_STATE": str(settings.state),
        "SLUICE_DEPLOYMENT": settings.deployment,
        "SLUICE_JARS": str(settings.jars),
        "SLUICE_FAILPOINT": settings.failpoint,
        "SLUICE_SPARK_MASTER": project.spark_place().master,  # where room was looked for
    }


def batch_settings(project: Project) -> dict[str, str]:
    """Return our settings for a batch, which records what it does in the control database."""
    settings = project.settings
    control = {"SLUICE_CONTROL_URL": settings.control_url, "SLUICE_BATCH_NICENESS": str(settings.batch_niceness)}
    return {**own_settings(project), **control}


def inherited_by_unit(project: Project, unit: str) -> frozenset[str]:
    """Return the variables that a unit's driver gets from whoever starts it; none for one that no spec names."""
    found = project.catalog.units().get(unit)
    if found is None:
        return frozenset()
    return variables_of_unit(project.catalog, project.deployment, found).names


def inherited_by_batch(project: Project, pipeline: str) -> frozenset[str]:
    """Return the variables that a batch of a pipeline gets from whoever starts it. It tells lineage of itself."""
    spec = project.catalog.pipelines.get(pipeline)
    named = frozenset() if spec is None else variables_of_batch(spec).names
    return named | lineage_variables()


def unset(project: Project, unit: str) -> tuple[str, ...]:
    """Return the variables that the specs of a unit name and that are not set here."""
    found = project.catalog.units().get(unit)
    if found is None:
        return ()
    return not_set(variables_of_unit(project.catalog, project.deployment, found))


def refuse_unconfigured(project: Project, unit: str) -> None:
    """Make sure that a driver which is started from here finds what its specs name.

    Raises:
        NotConfiguredError: names every variable that is not set.
    """
    if names := unset(project, unit):
        raise NotConfiguredError(
            f"the specs of unit {unit!r} name {', '.join(names)}, which {'is' if len(names) == 1 else 'are'} not set "
            "here. Nothing was started.",
            fix=how_to_set(names),
        )


def how_to_set(names: Iterable[str]) -> str:
    """Return how variables are set, as a clause: what they hold, and where."""
    held = [_form(name) for name in names]
    return f"set {'; '.join(held)}, where the command runs; for Airflow, before `sluice up` or in its own environment."


def _form(name: str) -> str:
    if name.startswith("SLUICE_CONNECTION_"):
        return f"{name}=postgresql+psycopg://user:password@host/database"
    if name.startswith("SLUICE_PASSWORD_"):
        return f"{name} to the password, or {name}_FILE to a file that holds it"
    return name


def not_set(variables: Variables) -> tuple[str, ...]:
    """Return what a process needs and would not find if it were started from here."""
    here = environment()
    needed = {name for name in variables.needed if not here.get(name)}
    passwords = {name for name in variables.passwords - variables.known_otherwise if not is_set(name)}
    return tuple(sorted(needed | passwords))
