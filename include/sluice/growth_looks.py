"""Looks at the streams that read topics which have grown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sluice.errors import SluiceError
from sluice.specs.rhythm import topic_of
from sluice.streams.observation import Evidence
from sluice.topics.changes import Grow
from sluice.topics.growth import Followed, Growth, followed

if TYPE_CHECKING:
    from sluice.project import Project
    from sluice.provisioning.plan import Provision


def growths_of(found: Provision) -> list[Growth]:
    """Return what grows by a plan."""
    return [Growth(item.topic, item.partitions, item.more) for item in found.items if isinstance(item, Grow)]


def with_unread(project: Project, growth: Growth) -> Growth:
    """Return a growth with what the streams have yet to read now; without it where nobody could look."""
    try:
        seen = dict(_readers(project, growth.topic))
    except SluiceError:
        return growth
    unread: Mapping[str, int] = {s: e.lag_records for s, e in seen.items() if e.lag_records is not None}
    return replace(growth, unread=unread)


def follow_growths(project: Project, growths: Iterable[Growth]) -> list[Followed]:
    """Return how each stream that reads one of the topics has taken its growth, by one look.

    Raises:
        UnreachableError: what all looks need did not answer.
    """
    return [
        followed(growth, stream, seen, project.checkpoint(stream).origin())
        for growth in growths
        for stream, seen in _readers(project, growth.topic)
    ]


def _readers(project: Project, topic: str) -> Iterator[tuple[str, Evidence]]:
    catalog = project.catalog
    for name, unit in catalog.units().items():
        if any(topic_of(catalog, stream) == topic for stream in unit.streams):
            for stream, seen in project.evidence(name).items():
                if topic_of(catalog, stream) == topic:
                    yield stream, seen
