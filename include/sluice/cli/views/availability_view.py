"""Availability and missed deadlines on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.errors import UnreachableError
from sluice.project.project import Project
from sluice.streams.health.availability import SPAN, Availability, availabilities
from sluice.streams.health.snapshots import DeadlineState
from sluice.streams.life.timeline import duration_text


@dataclass(frozen=True)
class UnitService:
    """The recorded availability of a unit's streams, and their missed deadlines.

    Attributes:
        availability: of the last 30 days, by stream; empty if the control database did not answer.
        missed: by stream, the deadlines that were missed when it was last observed, and are still declared.
    """

    availability: Mapping[str, Availability] = field(default_factory=dict)
    missed: Mapping[str, Sequence[DeadlineState]] = field(default_factory=dict)

    def as_dict(self, stream: str) -> dict[str, Any]:
        """Return both for a stream as JSON values; unknown availability is null."""
        availability, missed = self.availability.get(stream), self.missed.get(stream, ())
        return {
            "availability_30d": None if availability is None else availability.as_dict(),
            "missed_deadlines": [{"deadline": state.deadline, "since": state.since} for state in missed],
        }

    def lines(self) -> Iterator[str]:
        """Yield a sentence per stream, and one per missed deadline."""
        for stream, availability in self.availability.items():
            yield _sentence(stream, availability)
        for stream, missed in self.missed.items():
            for state in missed:
                since = f"{state.since:%Y-%m-%d %H:%M:%S} UTC"
                yield f"{stream} has missed its deadline {state.deadline} since {since} (as last observed)."


def unit_service(project: Project, unit: str, now: datetime) -> UnitService:
    """Return both for a unit at a time (UTC), from the control database; empty if it does not answer."""
    catalog, streams = project.catalog, project.catalog.unit(unit).streams
    try:
        registry, since = project.records.registry(), now - SPAN
        desired, verdicts = registry.desired_states_since(unit, since), registry.verdicts_since(unit, since)
        attempts, plan = registry.attempts(unit), catalog.run_plan(unit)
        availability = availabilities(desired, attempts, verdicts, streams=streams, now=now, plan=plan)
        snapshots = project.records.snapshots().of([unit]).get(unit, {})
    except UnreachableError:
        return UnitService()
    missed: dict[str, list[DeadlineState]] = {}
    for stream in (stream for stream in streams if stream in snapshots):
        declared = catalog.deadlines_of(stream)
        for state in snapshots[stream].deadlines:
            if state.missed and getattr(declared, state.deadline.value) is not None:
                missed.setdefault(stream, []).append(state)
    return UnitService(availability, missed)


def in_percent(availability: Availability | None) -> str:
    """Return the available share, rounded down; empty if the stream should never have run, `?` if it is unknown."""
    if availability is None:
        return "?"
    if not availability.requested:
        return ""
    return f"{availability.available * 10_000 // availability.requested / 100:.2f} %"


def _sentence(stream: str, availability: Availability) -> str:
    if not availability.requested:
        return f"{stream} was not requested to run in the last {SPAN.days} days."
    parts = [
        f" {name} for {duration_text(time)}"
        for name in ("unknown", "down", "lagging")
        if (time := getattr(availability, name))
    ]
    aside = f" ({','.join(parts).strip()})" if parts else ""
    due = duration_text(availability.requested)
    return f"{stream} was available for {in_percent(availability)} of the {due} that it should have run{aside}."
