"""Records by the spec of a topic: in the order of their times, some late, some broken, no two with the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from sluice.proof.generation.breaking import BrokenRecords, RecordPlan
from sluice.proof.generation.contents import RecordContents, RecordMoment
from sluice.proof.generation.framing import TopicForms
from sluice.proof.generation.made import MadeRecord, RecordFate, UnmadeError
from sluice.proof.generation.shapes import FieldShape
from sluice.specs.model.model import TopicSpec
from sluice.topics.declared_time import write_time
from sluice.topics.json_object import encode
from sluice.values.paths import put_at

_EVERY, _LATE, _BROKEN = 40, 17, 33
"""Of so many records, the one with this number is late, and the one with that is broken."""
_MARGIN = timedelta(minutes=1)


class RecordGenerator:
    """Makes the records of a topic.

    Args:
        topic: declares them; see `sluice.proof.generation.unmade` for what can be made.
        begin: when the first event happens (UTC); record n happens n steps later, and is known at once.
        step: between two events, in whole milliseconds.
        lateness: what is later is late; None: no late records are made.
        skew: how far an event may lie ahead of its arrival; None: no record of the future is made.
        breaks: whether broken records are made.
        now: gives the time of each event instead; where the broker says when a record came, no time can be made up.
        identities: further fields that hold the record's number, because they do in another topic of the pipeline.
        left_out: fields that no record has, see `sluice.proof.generation.unmade`.
    """

    def __init__(
        self,
        topic: TopicSpec,
        begin: datetime,
        step: timedelta,
        *,
        lateness: timedelta | None = None,
        skew: timedelta | None = None,
        breaks: bool = False,
        now: Callable[[], datetime] | None = None,
        identities: frozenset[str] = frozenset(),
        left_out: frozenset[str] = frozenset(),
    ) -> None:
        self._value, self._now = topic.value, now
        has_two_times = topic.value.event_time != topic.value.arrival_time
        self._lateness = lateness if has_two_times else None
        self._begin, self.step = begin, step
        self._forms = TopicForms(topic.value)
        self._left_out = left_out | ({topic.value.heartbeat} if topic.value.heartbeat else set())
        self._identities = identities | frozenset(topic.value.event_id or ())
        self._plan = RecordPlan(
            topic.value, self._forms, lambda: self._contents, self._moment, self._mark, lambda: self._has_more
        )
        self._broken = BrokenRecords(self._plan, skew if has_two_times else None) if breaks else None

    def happens(self, number: int) -> datetime:
        """Return when the event of a record happens."""
        return self._begin + number * self.step

    def value(self, number: int) -> bytes:
        """Return the bytes of a good record.

        Raises:
            UnmadeError: none can be made.
        """
        return self._made(self._moment(number))

    def record(self, number: int) -> MadeRecord:
        """Return a record, and what it is made to be: most are good, some are late or broken."""
        place = number % _EVERY
        if place == _LATE and self._lateness is not None:
            moment = self._moment(number)
            margin = _MARGIN + self.tick
            late = RecordMoment(number, moment.event - self._lateness - margin, moment.arrival)
            return MadeRecord(self._made(late), RecordFate.LATE)
        if place == _BROKEN and self._broken is not None:
            return self._broken.record(number, number // _EVERY)
        return MadeRecord(self.value(number))

    def heartbeat(self, at: datetime) -> bytes | None:
        """Return a record that moves the times of the topic to `at`; None if it has no heartbeats."""
        value = self._value
        if value.heartbeat is None or value.format != "json":
            return None
        times = {value.event_time, value.arrival_time} - {"broker"}
        record: dict[str, object] = {}
        put_at(record, value.fields[value.heartbeat].keys(value.heartbeat), True)
        for name in sorted(times):
            put_at(record, value.fields[name].keys(name), write_time(at, value.fields[name]))
        return self._forms.of(0).head + encode(record)

    @cached_property
    def tick(self) -> timedelta:
        """The shortest time between two events that all forms of the records tell apart."""
        times = [
            shape.tick for each in self._forms.all for name, shape in each.writing.shapes.items() if self._is_time(name)
        ]
        return max(times)

    def _is_time(self, name: str) -> bool:
        return name in (self._value.event_time, self._value.arrival_time)

    @cached_property
    def _mark_by(self) -> str:
        """What tells two records apart: `field`, `time`, or `mark`; empty where nothing does."""
        shapes = [each.writing.shapes for each in self._forms.all]
        if all(any(_tells_apart(own, name) for name in self._identities) for own in shapes):
            return "field"
        if self._now is None and self.step >= self.tick:
            return "time"
        return "mark" if all(each.writing.takes_marks for each in self._forms.all) else ""

    @cached_property
    def _named(self) -> frozenset[str]:
        """The fields that hold the record's number: one more where nothing else tells records apart."""
        if self._mark_by:
            return self._identities
        shapes = [each.writing.shapes for each in self._forms.all]
        free = (name for name, field in self._value.fields.items() if field.required and not self._is_time(name))
        for name in free:
            if all(_tells_apart(own, name) for own in shapes):
                return self._identities | {name}
        raise UnmadeError(
            "has no field that tells two records of the same moment apart",
            "add a required text or number without narrow bounds to the topic, or a second time.",
        )

    @cached_property
    def _contents(self) -> Sequence[RecordContents]:
        """What makes the content of records, for each of the forms."""
        value = self._value
        return tuple(
            RecordContents(
                each.writing.shapes,
                value.event_time,
                value.arrival_time,
                left_out=self._left_out,
                identities=self._named,
            )
            for each in self._forms.all
        )

    @property
    def _has_more(self) -> bool:
        """Whether another field than the event time tells records apart: one with their number, or their arrival."""
        if self._mark_by == "time":
            return self._value.arrival_time not in ("broker", self._value.event_time)
        return self._mark_by != "mark"

    def _mark(self, number: int) -> int | None:
        return number if self._mark_by == "mark" else None

    def _moment(self, number: int) -> RecordMoment:
        at = self.happens(number) if self._now is None else self._now()
        return RecordMoment(number, at, at)

    def _made(self, moment: RecordMoment) -> bytes:
        return self._plan.made(moment.number, moment)


def _tells_apart(shapes: Mapping[str, FieldShape], name: str) -> bool:
    return name in shapes and (shapes[name].field.required or shapes[name].always) and shapes[name].tells_apart
