"""What is looked at for a plan of topics: how far streams have read, whose state there is, where order broke."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from sluice.errors import SluiceError
from sluice.provisioning.growth.impact import ImpactAnalysis
from sluice.provisioning.growth.order_break import OrderBreaks
from sluice.provisioning.retention.retention_cut import Position

if TYPE_CHECKING:
    from sluice.kafka.administration import KafkaPythonAdministration
    from sluice.project.project import Project


def positions(project: Project, topic: str) -> Mapping[str, Position]:
    """Return the position of every stream that reads a topic, by its checkpoint; None where that cannot be read."""
    return {stream: _position(project, stream) for stream in _readers(project, topic)}


def keeps_state(project: Project, stream: str) -> bool | None:
    """Return whether a stream's checkpoint holds state; None before its first batch."""
    try:
        checkpoint = project.checkpoint(stream)
        return (checkpoint.folder / "state").is_dir() if checkpoint.look().batches else None
    except SluiceError:
        return None


def impact_analysis(project: Project, administration: KafkaPythonAdministration, *, now: datetime) -> ImpactAnalysis:
    """Return what finds out what the changes of a plan affect.

    Args:
        project: in its deployment.
        administration: of the cluster; stays the caller's.
        now: the present (UTC).
    """
    from sluice.kafka.newest_keys import KafkaPythonKeyReader  # noqa: PLC0415 - DAG files must not pay for it

    return ImpactAnalysis(
        project.catalog,
        administration,
        KafkaPythonKeyReader(administration),
        lambda topic: positions(project, topic),
        now,
        lambda stream: keeps_state(project, stream),
    )


def order_breaks(project: Project) -> OrderBreaks:
    """Return the record of where the order of keys broke.

    Raises:
        UnreachableError: the control database could not be asked.
        RefusedError: its schema is newer than this code.
    """
    from sluice.control.order_breaks import SqlOrderBreaks  # noqa: PLC0415 - DAG files must not pay for it

    return SqlOrderBreaks(project.control_database, project.settings.deployment)


def _readers(project: Project, topic: str) -> list[str]:
    catalog = project.catalog
    return [s for unit in catalog.units().values() for s in unit.streams if catalog.topic_of(s) == topic]


def _position(project: Project, stream: str) -> Position:
    try:
        look = project.checkpoint(stream).look()
    except SluiceError:
        return None
    return look.start if look.newest is None else look.newest.offsets
