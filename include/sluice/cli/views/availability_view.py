"""Availability and missed deadlines on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.errors import UnreachableError
from sluice.project.project import Project
from sluice.streams.deadlines.record import DeadlineRecord
from sluice.streams.health.availability import SPAN, Availability, availabilities
from sluice.streams.life.timeline import in_words


@dataclass(frozen=True)
class UnitService:
    """The recorded availability and missed deadlines of a unit's streams.

    Attributes:
        availability: of the last 30 days, by stream; empty if the control database did not answer.
        missed: the missed deadlines that specs still declare.
    """

    availability: Mapping[str, Availability] = field(default_factory=dict)
    missed: tuple[DeadlineRecord, ...] = ()

    def as_dict(self, stream: str) -> dict[str, Any]:
        """Return a stream's availability and missed deadlines as JSON values; unknown availability is null."""
        found = self.availability.get(stream)
        missed = [record for record in self.missed if record.stream == stream]
        return {
            "availability_30d": None if found is None else found.as_dict(),
            "missed_deadlines": [{"deadline": record.deadline, "since": record.since} for record in missed],
        }

    def lines(self) -> Iterator[str]:
        """Yield a sentence per stream, and one per missed deadline."""
        for stream, found in self.availability.items():
            yield _sentence(stream, found)
        for record in self.missed:
            yield (
                f"{record.stream} has missed its deadline {record.deadline} since {record.since:%Y-%m-%d %H:%M:%S} "
                "UTC, as last recorded."
            )


def unit_service(project: Project, unit: str, now: datetime) -> UnitService:
    """Return the recorded availability and deadlines; empty if the control database does not answer.

    Args:
        project: has the control database.
        unit: the driver's name in the specs.
        now: the current time (UTC).
    """
    catalog, streams = project.catalog, project.catalog.unit(unit).streams
    try:
        registry, since = project.records.registry(), now - SPAN
        desired, verdicts = registry.wishes_since(unit, since), registry.verdicts_since(unit, since)
        found = availabilities(desired, registry.attempts(unit), verdicts, streams=streams, now=now)
        records = registry.deadline_records(unit)
    except UnreachableError:
        return UnitService()
    missed = (record for record in records if record.missed and record.stream in streams)
    declared = (r for r in missed if getattr(catalog.deadlines_of(r.stream), r.deadline.value) is not None)
    return UnitService(found, tuple(declared))


def in_percent(found: Availability | None) -> str:
    """Return the available share, rounded down; empty if the stream should never have run, `?` if it is unknown."""
    if found is None:
        return "?"
    if not found.wanted:
        return ""
    return f"{found.available * 10_000 // found.wanted / 100:.2f} %"


def _sentence(stream: str, found: Availability) -> str:
    if not found.wanted:
        return f"{stream} was not requested to run in the last {SPAN.days} days."
    parts = [
        f" {name} for {in_words(time)}"
        for name, time in [("unknown", found.unknown), ("down", found.down), ("lagging", found.lagging)]
        if time
    ]
    aside = f" ({','.join(parts).strip()})" if parts else ""
    return f"{stream} was available for {in_percent(found)} of {in_words(found.wanted)} that it should have run{aside}."
