"""The records of quality in a project's control database, put together for whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.project.project import Project

if TYPE_CHECKING:
    from sluice.quality.cases import Cases
    from sluice.quality.results import QualityResults


def cases_of(project: Project) -> Cases:
    """Return the record of cases.

    Raises:
        UnreachableError: the control database could not be asked.
    """
    from sluice.control.cases import SqlCases  # noqa: PLC0415 - DAG files must not pay for it

    return SqlCases(project.control_database, project.settings.deployment)


def results_of(project: Project) -> QualityResults:
    """Return the record of what became of expectations in intervals.

    Raises:
        UnreachableError: the control database could not be asked.
    """
    from sluice.control.quality import SqlQualityResults  # noqa: PLC0415 - DAG files must not pay for it

    return SqlQualityResults(project.control_database, project.settings.deployment)
