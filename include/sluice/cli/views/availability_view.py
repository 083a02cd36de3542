"""How availability, and what is told of deadlines, look on the terminal."""

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
class Promises:
    """What is on record of how a unit's streams kept what they promise.

    Attributes:
        availability: of the last 30 days, by stream; empty if the control database could not be asked.
        missed: the deadlines that are missed, and still declared.
    """

    availability: Mapping[str, Availability] = field(default_factory=dict)
    missed: tuple[DeadlineRecord, ...] = ()

    def as_dict(self, stream: str) -> dict[str, Any]:
        """Return what there is of a stream as JSON values; the availability is null if it is not known."""
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
                f"{record.stream} misses its deadline {record.deadline} since {record.since:%Y-%m-%d %H:%M:%S} UTC "
                "(as last told)."
            )


def promises(project: Project, unit: str, now: datetime) -> Promises:
    """Return what is on record; nothing if the control database does not answer.

    Args:
        project: gives the control database.
        unit: the driver's name in the specs.
        now: the present (UTC).
    """
    catalog, streams = project.catalog, project.catalog.unit(unit).streams
    try:
        registry, since = project.records.registry(), now - SPAN
        wishes, verdicts = registry.wishes_since(unit, since), registry.verdicts_since(unit, since)
        found = availabilities(wishes, registry.attempts(unit), verdicts, streams=streams, now=now)
        records = registry.deadline_records(unit)
    except UnreachableError:
        return Promises()
    missed = (record for record in records if record.missed and record.stream in streams)
    declared = (r for r in missed if getattr(catalog.deadlines_of(r.stream), r.deadline.value) is not None)
    return Promises(found, tuple(declared))


def in_percent(found: Availability | None) -> str:
    """Return the available share: empty if the stream was never wanted, a question mark where nothing is known.

    It is rounded down: 100 % means all of it.
    """
    if found is None:
        return "?"
    if not found.wanted:
        return ""
    return f"{found.available * 10_000 // found.wanted / 100:.2f} %"


def _sentence(stream: str, found: Availability) -> str:
    if not found.wanted:
        return f"{stream} was not wanted in the last {SPAN.days} days."
    parts = [
        f" {name} for {in_words(time)}"
        for name, time in [("not known", found.unknown), ("down", found.down), ("lagging", found.lagging)]
        if time
    ]
    aside = f" ({','.join(parts).strip()})" if parts else ""
    return (
        f"{stream} was available for {in_percent(found)} of the {in_words(found.wanted)} in which it was wanted{aside}."
    )
