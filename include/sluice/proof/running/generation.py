"""Records by the schema of a topic: in the order of their times, some late, some broken, no two with the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from sluice.proof.eligibility import GENERATED_TYPES
from sluice.proof.journal import RecordFate
from sluice.specs.model.fields import FieldType
from sluice.specs.model.model import TopicSpec, ValueField
from sluice.topics.declared_time import write_time
from sluice.topics.json_object import encode
from sluice.values.paths import put_at

_VALUES, _RANGE = 5, 100
_EVERY, _LATE, _BROKEN = 40, 17, 33
"""Of so many records, the one with this number is late, and the one with that is broken."""
_MARGIN = timedelta(minutes=1)


class RecordGenerator:
    """Makes the values of a topic.

    Args:
        topic: declares them; see `sluice.proof.eligibility` for what can be made.
        begin: when the first event happens (UTC); record n happens n steps later, and is known at once.
        step: between two events, in whole milliseconds.
        lateness: what is later is late; None: no late records are made.
        breaks: whether broken records are made.
        now: gives the time of each event instead; where the broker says when a record came, no time can be made up.
    """

    def __init__(
        self,
        topic: TopicSpec,
        begin: datetime,
        step: timedelta,
        *,
        lateness: timedelta | None = None,
        breaks: bool = False,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._value, self._now, self._breaks = topic.value, now, breaks
        self._lateness = None if topic.value.event_time == topic.value.arrival_time else lateness
        self._begin = begin
        self.step = step

    def happens(self, number: int) -> datetime:
        """Return when the event of a record happens."""
        return self._begin + number * self.step

    def value(self, number: int) -> bytes:
        """Return the bytes of a record."""
        return self._made(number, self._at(number))

    def _at(self, number: int) -> datetime:
        return self.happens(number) if self._now is None else self._now()

    def _made(self, number: int, event: datetime) -> bytes:
        arrival = self._at(number)
        record: dict[str, object] = {}
        for name, field in self._value.fields.items():
            if name == self._value.heartbeat or field.type not in GENERATED_TYPES:
                continue
            if field.required or name in (self._value.event_time, self._value.arrival_time):
                at = event if name == self._value.event_time else arrival
                put_at(record, field.keys(name), self._part(name, field, number, at))
        return encode(record)

    def record(self, number: int) -> tuple[bytes, RecordFate]:
        """Return the bytes of a record and what it is made to be: most are good, some are late or broken."""
        place = number % _EVERY
        if place == _LATE and self._lateness is not None:
            return self._made(number, self._at(number) - self._lateness - _MARGIN), RecordFate.LATE
        if place == _BROKEN and self._breaks:
            return self._broken(number), RecordFate.QUARANTINED
        return self.value(number), RecordFate.GOOD

    def _broken(self, number: int) -> bytes:
        value = self.value(number)
        return (value[:-1], value + b"{}", encode({"proof": number}))[number // _EVERY % 3]

    def heartbeat(self, at: datetime) -> bytes | None:
        """Return a record that moves the times of the topic to `at`; None if it has no heartbeats."""
        value = self._value
        if value.heartbeat is None:
            return None
        times = {value.event_time, value.arrival_time} - {"broker"}
        record: dict[str, object] = {}
        put_at(record, value.fields[value.heartbeat].keys(value.heartbeat), True)
        for name in sorted(times):
            put_at(record, value.fields[name].keys(name), write_time(at, value.fields[name]))
        return encode(record)

    def _part(self, name: str, field: ValueField, number: int, at: datetime) -> object:
        identifies = name in (self._value.event_id or ())
        lowest = field.minimum or 0
        room = (field.maximum - lowest) if field.maximum is not None else float("inf")
        match field.type:
            case FieldType.STRING:
                return (
                    f"{name}-{number}"
                    if identifies
                    else (field.one_of or _texts(name))[number % _VALUES % _many(field)]
                )
            case FieldType.BOOLEAN:
                return number % 2 == 0
            case FieldType.TIMESTAMP:
                return write_time(at, field)
            case FieldType.DOUBLE:
                return lowest + min(room, float(number % _RANGE)) / 2
        return int(lowest) + (number if identifies else int(min(room, number % _RANGE)))


def _texts(name: str) -> tuple[str, ...]:
    return tuple(f"{name}-{number}" for number in range(_VALUES))


def _many(field: ValueField) -> int:
    return len(field.one_of) if field.one_of else _VALUES
