"""A simulated source: what its events hold, when they happen and become known, and what is wrong with some of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, StringConstraints, WithJsonSchema, model_validator

from sluice.specs.feeds.distribution import Distribution, Share, names_in
from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec

MAX_EVENTS = 5_000_000
"""Of one simulation: it is held in memory, at about 400 bytes an event."""
SIMULATORS = "simulators"
"""The folder of their functions, below `include/`."""
FUNCTION_PATTERN = "^[a-z_][a-z0-9_]*:[a-z_][a-z0-9_]*$"


def parse_instant(value: object) -> datetime:
    """Read a UTC day, or a time with its zone.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value) if "T" in value or " " in value else date.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise ValueError("it is no day and no time with its zone; write 2026-01-05 or 2026-01-05T08:00:00Z")


Instant = Annotated[
    datetime,
    BeforeValidator(parse_instant),
    PlainSerializer(lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"), return_type=str),
    WithJsonSchema({"type": "string", "examples": ["2026-01-05", "2026-01-05T08:00:00Z"]}),
]


def simulator_file(function: str, include: Path) -> Path:
    """Return the file in which a simulation's function stands."""
    return include / SIMULATORS / f"{function.partition(':')[0]}.py"


class Disorder(Spec):
    """How long after an event its record becomes known."""

    mean: Duration = timedelta()
    """The mean of an exponential distribution."""
    late: Share = 0.0
    """The share of events that come `late_by` later still."""
    late_by: Duration = timedelta()

    @model_validator(mode="after")
    def _late_is_later(self) -> Self:
        if (self.late > 0) != (self.late_by > timedelta()):
            raise ValueError("`late` says how many are late and `late_by` by how much; write both or neither")
        return self


class RecordFaults(Spec):
    """The share of events with each fault; an event has one at most."""

    duplicates: Share = 0.0
    """Sent twice: the second record differs in its arrival time alone."""
    unreadable: Share = 0.0
    """Cut off in the middle."""
    missing: Share = 0.0
    """Without one of the fields that the topic requires."""
    mistyped: Share = 0.0
    """With a text where a field of another type is declared."""
    future: Share = 0.0
    """With an event time a year ahead."""

    @model_validator(mode="after")
    def _leaves_good_ones(self) -> Self:
        total = sum(self.by_kind.values())
        if total > 1:
            raise ValueError(f"the shares of all faults add up to {total:g}; they are of all events, so at most 1")
        return self

    @property
    def by_kind(self) -> dict[str, float]:
        """The share of each kind."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class Simulation(Spec):
    """Reproducible events: the same spec makes the same records, byte by byte, on every machine."""

    seed: int = 1
    start: Instant
    """When the first event may happen: a UTC day, or a time with its zone."""
    length: Duration
    """How long events happen from then on."""
    rate: float | None = Field(default=None, gt=0)
    """Events per second, on average; of `fields`."""
    spacing: Literal["random", "steady"] = "random"
    """`random`: as independent events come (a Poisson process); `steady`: one as far from the last as from the next."""
    daily_wave: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How far the rate rises above its mean at 20:00 UTC, and falls below it at 08:00, as a share of it."""
    fields: dict[Name, Distribution] = Field(default_factory=dict)
    """What is drawn for each field of the topic, in this order; the topic's times are not drawn."""
    function: Annotated[str, StringConstraints(pattern=FUNCTION_PATTERN)] | None = None
    """Instead of `fields`: `module:function` in `include/simulators`, which yields events in order of time."""
    line: str | None = None
    """Of a topic with lines of text: the line, in which `{name}` stands for a field or one of the topic's times."""
    disorder: Disorder = Disorder()
    faults: RecordFaults = RecordFaults()

    @property
    def end(self) -> datetime:
        """The first moment at which no event happens (UTC)."""
        return self.start + self.length

    @property
    def mentions(self) -> frozenset[str]:
        """The fields that others, or the line, are made of; they need not be fields of the topic."""
        named = {name for drawn in self.fields.values() for name in drawn.mentions}
        return frozenset(named | set(names_in(self.line or "")))

    @model_validator(mode="after")
    def _says_how_events_are_made(self) -> Self:
        if bool(self.fields) == (self.function is not None):
            raise ValueError("events are drawn by `fields` or made by a `function`; write one of the two")
        if (self.rate is None) != (not self.fields):
            raise ValueError("`rate` says how many events there are of `fields`; a `function` decides that itself")
        if self.length <= timedelta():
            raise ValueError("a length of 0 has no events")
        if self.spacing == "steady" and self.daily_wave:
            raise ValueError("events with steady spacing have no `daily_wave`; remove one of the two")
        if self.rate is not None and (events := self.rate * self.length.total_seconds()) > MAX_EVENTS:
            raise ValueError(f"it makes about {events:,.0f} events, and at most {MAX_EVENTS:,} are held in memory")
        if self.line is not None:
            names_in(self.line)
        return self._in_order()

    def _in_order(self) -> Self:
        for at, (name, drawn) in enumerate(self.fields.items()):
            later = [other for other in drawn.mentions if other in list(self.fields)[at:]]
            if later:
                raise ValueError(f"{name!r} needs {later[0]!r}, which is drawn after it; write that above it")
            if drawn.per is not None and drawn.per not in self.fields:
                raise ValueError(f"{name!r} is drawn per {drawn.per!r}, which is none of the fields")
            if drawn.per is not None and self.fields[drawn.per].many is not None:
                raise ValueError(f"{name!r} is drawn per {drawn.per!r}, which has `many` values; name a field with one")
        return self
