"""The record of what was last seen of streams, put together for whoever writes or shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.project.project import Project

if TYPE_CHECKING:
    from sluice.streams.health.looks import NewestLooks


def newest_looks(project: Project) -> NewestLooks:
    """Return the record.

    Raises:
        UnreachableError: the control database could not be asked.
    """
    from sluice.control.looks import SqlNewestLooks  # noqa: PLC0415 - DAG files must not pay for it

    return SqlNewestLooks(project.control_database, project.settings.deployment)
