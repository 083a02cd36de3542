"""Looks at the streams that read topics which have grown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sluice.clock import Clock
from sluice.errors import NotReadyError, SluiceError
from sluice.provisioning.growth.growth import Followed, Growth, GrowthAdoption, followed
from sluice.provisioning.plans.changes import PartitionIncrease
from sluice.streams.health.observation import Evidence

if TYPE_CHECKING:
    from sluice.project.project import Project
    from sluice.provisioning.plans.plan import Plan

FIX = (
    "read `sluice streams show` of what is named: a driver that is down comes back by itself or says why not, one that "
    "stands still is STALLED, and one that falls behind needs cores. Nothing is undone by this."
)
_POLL_SECONDS = 2.0


def growths_of(plan: Plan) -> list[Growth]:
    """Return what grows by a plan."""
    return [
        Growth(each.subject, each.detail.before, each.detail.after)
        for each in plan.changes
        if isinstance(each.detail, PartitionIncrease)
    ]


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


def wait_for_streams(
    project: Project, growths: Collection[Growth], *, seconds: float, tell: Callable[[str], None], clock: Clock
) -> None:
    """Wait until the running streams read the new partitions and come nearer.

    Args:
        project: gives the looks.
        growths: what has happened.
        seconds: how long.
        tell: told what every stream does, once each time that changes.
        clock: to wait by.

    Raises:
        NotReadyError: the time is over; says of each stream that is waited for what was seen.
        UnreachableError: what all looks need did not answer.
    """
    until, told = clock.monotonic() + seconds, ""
    while True:
        found = follow_growths(project, growths)
        if (said := "; ".join(map(str, found))) != told:
            tell(said)
            told = said
        waiting = [each for each in found if each.state is GrowthAdoption.WAITS]
        if not waiting:
            return
        if clock.monotonic() >= until:
            raise NotReadyError(f"The topics have grown, and {'; '.join(map(str, waiting))}.", fix=FIX)
        clock.sleep(_POLL_SECONDS)


def _readers(project: Project, topic: str) -> Iterator[tuple[str, Evidence]]:
    catalog = project.catalog
    for name, unit in catalog.units().items():
        if any(catalog.topic_of(stream) == topic for stream in unit.streams):
            for stream, seen in project.evidence(name).items():
                if catalog.topic_of(stream) == topic:
                    yield stream, seen
