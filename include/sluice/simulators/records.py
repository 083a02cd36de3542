"""The records of a simulation: its events with their times, in disorder, and some of them with a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from sluice.errors import SpecError
from sluice.simulators.draws import FieldDraw, generator
from sluice.simulators.functions import Event, made_events
from sluice.simulators.timeline import delay, event_times
from sluice.specs.feeds.distribution import names_in
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.feeds.simulation import Simulation
from sluice.specs.model.fields import FieldType
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_time import write_time
from sluice.topics.json_object import encode
from sluice.values.paths import put_at

_YEAR = timedelta(days=365)
_RETRY = timedelta(seconds=1)
_WRONG = "n/a"


@dataclass(frozen=True, slots=True)
class Moments:
    """When an event happened and when its record became known (UTC)."""

    event: datetime
    arrival: datetime


@dataclass(frozen=True, slots=True)
class SimulatedRecord:
    """One record.

    Attributes:
        value: its bytes.
        key: its key; None if it has none.
        moments: when its event happened and when it became known, whatever its bytes say.
    """

    value: bytes
    key: bytes | None
    moments: Moments


def simulated_records(feed: FeedSpec, value: TopicValue, include: Path) -> list[SimulatedRecord]:
    """Return the records of a simulated feed as their events happen. The same specs make the same bytes.

    Raises:
        SpecError: its function fails, it makes no event or one that cannot be written, or two are the same record.
    """
    simulation = feed.simulate
    if simulation is None:
        raise ValueError(f"the feed {feed.name} is not simulated")
    writer = RecordWriter(simulation, value)
    events = made_events(simulation, include) if simulation.function else _drawn_events(simulation, writer)
    delays, faults = generator(simulation.seed, "delays"), generator(simulation.seed, "faults")
    records: dict[bytes, SimulatedRecord] = {}
    for at, fields in events:
        moments = Moments(at, at + delay(simulation.disorder, delays))
        fault = _fault(simulation, faults)
        written = writer.faulty(fault, fields, moments, faults)
        if written is None or written in records:
            written = writer.whole(fields, moments)
        if written in records:
            raise _same(feed, written)
        key = _key(fields, feed.key)
        records[written] = SimulatedRecord(written, key, moments)
        if fault == "duplicates":
            again = Moments(at, moments.arrival + _RETRY)
            written = writer.whole(fields, again)
            records.setdefault(written, SimulatedRecord(written, key, again))
    if not records:
        raise SpecError(f"the feed {feed.name} makes no event.", fix="make it longer, or raise its rate.")
    return list(records.values())


class RecordWriter:
    """Writes events as the records of a topic."""

    def __init__(self, simulation: Simulation, value: TopicValue) -> None:
        self._line = simulation.line
        self._in_line = names_in(simulation.line or "")
        self._value = value

    def times(self, moments: Moments) -> dict[str, str | int]:
        """Return the times of a record as it has them, by the names of their fields."""
        value = self._value
        by_field = {value.event_time: moments.event}
        if value.arrival_time != "broker":
            by_field.setdefault(value.arrival_time, moments.arrival)
        return {name: write_time(at, value.fields[name]) for name, at in by_field.items()}

    def sent(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the drawn fields that a record has; those that others are only made of are left out."""
        return {name: part for name, part in fields.items() if self._line is not None or name in self._value.fields}

    def whole(self, fields: Mapping[str, Any], moments: Moments) -> bytes:
        """Return the bytes of a record without a fault."""
        return self._bytes({**fields, **self.times(moments)})

    def faulty(self, fault: str, fields: dict[str, Any], moments: Moments, random: Random) -> bytes | None:
        """Return the bytes of a record with a fault; None if this record cannot have it."""
        declared = self._value.fields
        match fault:
            case "unreadable":
                whole = self.whole(fields, moments)
                return whole[: len(whole) * 2 // 3]
            case "future":
                return self.whole(fields, Moments(moments.event + _YEAR, moments.arrival))
            case "missing":
                names = [name for name in fields if name in declared and declared[name].required]
                lost = _one_of(names, random)
                return None if lost is None else self.whole({k: v for k, v in fields.items() if k != lost}, moments)
            case "mistyped":
                names = [name for name in fields if name in declared and declared[name].type is not FieldType.STRING]
                wrong = _one_of(names, random)
                return None if wrong is None else self.whole({**fields, wrong: _WRONG}, moments)
        return None

    def _bytes(self, content: Mapping[str, Any]) -> bytes:
        try:
            return self._encoded(content)
        except (TypeError, ValueError) as error:
            raise SpecError(
                f"the event {content!r:.200} cannot be written: {error}.",
                fix="make its fields of texts, numbers and booleans, and of lists and objects of these.",
            ) from error

    def _encoded(self, content: Mapping[str, Any]) -> bytes:
        if self._line is not None:
            parts = {name: content.get(name) for name in self._in_line}
            return self._line.format_map({name: "" if part is None else part for name, part in parts.items()}).encode()
        record: dict[str, object] = {}
        for name, part in content.items():
            declared = self._value.fields.get(name)
            put_at(record, (name,) if declared is None else declared.keys(name), part)
        return encode(record)


def _drawn_events(simulation: Simulation, writer: RecordWriter) -> Iterator[Event]:
    draws = {name: FieldDraw(name, drawn, simulation.seed) for name, drawn in simulation.fields.items()}
    for number, at in enumerate(event_times(simulation), 1):
        known: dict[str, Any] = dict(writer.times(Moments(at, at)))
        fields: dict[str, Any] = {}
        for name, draw in draws.items():
            known[name] = draw.next(number, known)
            if known[name] is not None:
                fields[name] = known[name]
        yield at, writer.sent(fields)


def _fault(simulation: Simulation, random: Random) -> str:
    """Return the fault of the next event; empty: none."""
    at = random.random()
    for kind, share in simulation.faults.by_kind.items():
        if at < share:
            return kind
        at -= share
    return ""


def _one_of(names: Sequence[str], random: Random) -> str | None:
    return names[int(random.random() * len(names))] if names else None


def _key(fields: Mapping[str, Any], name: str | None) -> bytes | None:
    return None if name is None or name not in fields else str(fields[name]).encode()


def _same(feed: FeedSpec, written: bytes) -> SpecError:
    return SpecError(
        f"two events of the feed {feed.name} are the same record, {written.decode(errors='replace'):.200}: after a "
        "crash it could not be determined which of them was sent.",
        fix="give each event an id, such as a field with `sequence`.",
    )
