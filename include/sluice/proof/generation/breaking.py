"""Records that must be refused, each for the reason that it is made for: one way after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, partial

from sluice.proof.generation.contents import RecordContents, RecordMoment
from sluice.proof.generation.framing import HEAD, TopicForms
from sluice.proof.generation.json_values import JsonWriting
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.generation.shapes import FieldShape
from sluice.specs.model.encoding import LINES, UNDER_SCHEMAS
from sluice.specs.model.fields import FieldType
from sluice.specs.model.model import TopicValue
from sluice.values.line_pattern import line_pattern

_CENTURIES, _MARGIN = timedelta(days=365 * 400), timedelta(minutes=1)
"""So much later no event of ours can be: it is beyond the year 2200."""
_TEXT = "not allowed"
_Break = Callable[[int], bytes]


@dataclass(frozen=True)
class RecordPlan:
    """How the good records of a topic are made, which broken ones begin as.

    Attributes:
        value: the declaration of the topic's values.
        forms: how they are written.
        contents: returns what makes the content of records, for each of the forms.
        moment: returns when that is.
        mark: returns the number that no field holds, where records need one.
        has_more: returns whether another field than the event time tells records apart.
    """

    value: TopicValue
    forms: TopicForms
    contents: Callable[[], Sequence[RecordContents]]
    moment: Callable[[int], RecordMoment]
    mark: Callable[[int], int | None]
    has_more: Callable[[], bool]

    def made(
        self, number: int, moment: RecordMoment | None = None, *, instead: Mapping[str, object] | None = None
    ) -> bytes:
        """Return the bytes of a record in its frame, with something else in some fields."""
        form = self.forms.of(number)
        tree = self.contents()[self.forms.place(number)].tree(moment or self.moment(number), instead=instead)
        # What takes the place of a field may have told the record apart.
        return form.head + form.writing.write(tree, self.mark(number) if instead is None else number)

    @property
    def is_known_without_event(self) -> bool:
        """Whether a record without its event time is unlike all others, and is not empty."""
        return self.has_more() or all(each.writing.takes_marks for each in self.forms.all)


class BrokenRecords:
    """Makes the records that validation must quarantine.

    Args:
        plan: see there.
        skew: how far an event may lie ahead of its arrival; None: no record of the future can be made.
    """

    def __init__(self, plan: RecordPlan, skew: timedelta | None) -> None:
        self._plan, self._skew = plan, skew

    def record(self, number: int, turn: int) -> MadeRecord:
        """Return a broken record.

        Args:
            number: of the record.
            turn: the ways to break one take turns.
        """
        reason, make = self._ways[turn % len(self._ways)]
        return MadeRecord(make(number), RecordFate.QUARANTINED, reason)

    @property
    def reasons(self) -> frozenset[str]:
        """The reasons for which records are made to be refused."""
        return frozenset(reason for reason, _ in self._ways)

    @cached_property
    def _ways(self) -> tuple[tuple[str, _Break], ...]:
        return (*self._of_the_format(), *self._of_the_content())

    def _of_the_format(self) -> Iterator[tuple[str, _Break]]:
        plan = self._plan
        if plan.value.format == "json":
            yield from _JsonBreaks(plan).ways()
        elif plan.value.format in LINES:
            yield from self._of_lines()
        else:
            yield "malformed", lambda number: plan.made(number)[:-1]
            if plan.value.format == "avro":
                yield "trailing_bytes", lambda number: plan.made(number) + b"{}"
        if plan.value.framing == "confluent":
            yield "bad_framing", lambda number: b"\x01" + plan.made(number)[1:]
            yield "unknown_schema", lambda number: plan.forms.unknown_id + plan.made(number)[HEAD:]

    def _of_lines(self) -> Iterator[tuple[str, _Break]]:
        plan = self._plan
        if plan.value.pattern is None:
            delimiter = (plan.value.delimiter or ",").encode()
            yield "malformed", lambda number: plan.made(number) + delimiter + b"%d" % number
            yield "malformed", lambda number: plan.made(number) + delimiter + b'"%d' % number
            if plan.is_known_without_event:
                yield "missing_field", partial(self._without, plan.value.event_time)
            yield "wrong_type", lambda number: plan.made(number, instead={plan.value.event_time: f"no time {number}"})
        elif line_pattern(plan.value.pattern).read("no line 1") is None:
            yield "malformed", lambda number: b"no line %d" % number

    def _of_the_content(self) -> Iterator[tuple[str, _Break]]:
        value = self._plan.value
        if value.format in UNDER_SCHEMAS and value.event_time in self._explicit and self._plan.is_known_without_event:
            yield "missing_field", partial(self._without, value.event_time)
        yield "out_of_range", self._beyond_all_years
        if self._skew is not None:
            yield "future", self._ahead
        for name in self._common:
            yield from self._out_of_bounds(name)
        if (name := self._listed) and value.format != "text":
            yield "not_allowed", lambda number: self._plan.made(number, instead={name: f"{_TEXT} {number}"})

    @cached_property
    def _common(self) -> Mapping[str, FieldShape]:
        """The fields that all forms of the records have."""
        first, *others = (each.shapes for each in self._plan.contents())
        times = (self._plan.value.event_time, self._plan.value.arrival_time, self._plan.value.heartbeat)
        return {
            name: shape
            for name, shape in first.items()
            if name not in times and all(name in other for other in others) and not shape.group
        }

    @property
    def _explicit(self) -> frozenset[str]:
        """The fields whose absence shows in all forms."""
        forms = [each.shapes for each in self._plan.contents()]
        return frozenset(name for name in forms[0] if all(name in own and not own[name].always for own in forms))

    @cached_property
    def _listed(self) -> str:
        """A text with a list, which its bytes do not enforce; empty if there is none."""
        lists = (
            name
            for name, shape in self._common.items()
            if shape.field.one_of is not None and shape.symbols is None and shape.field.type is FieldType.STRING
        )
        return next(lists, "")

    def _out_of_bounds(self, name: str) -> Iterator[tuple[str, _Break]]:
        """Yield how a number is made that is too large; a whole one, which all of its bytes can hold."""
        if self._plan.value.format == "text":
            return
        shape = self._common[name]
        if shape.field.maximum is None or shape.field.type not in (FieldType.LONG, FieldType.INTEGER):
            return
        _, widest = replace(shape, field=shape.field.model_copy(update={"maximum": None})).range
        beyond = int(shape.field.maximum) + 1
        if shape.field.maximum < beyond <= widest:
            yield "out_of_range", lambda number: self._plan.made(number, instead={name: shape.written(beyond)})

    def _without(self, name: str, number: int) -> bytes:
        return self._plan.made(number, instead={name: None})

    def _beyond_all_years(self, number: int) -> bytes:
        return self._moved(number, _CENTURIES)

    def _ahead(self, number: int) -> bytes:
        return self._moved(number, (self._skew or timedelta()) + _MARGIN)

    def _moved(self, number: int, by: timedelta) -> bytes:
        moment = self._plan.moment(number)
        return self._plan.made(number, RecordMoment(number, moment.event + by, moment.arrival))


@dataclass(frozen=True)
class _JsonBreaks:
    """How JSON can be broken."""

    plan: RecordPlan

    def ways(self) -> Iterator[tuple[str, _Break]]:
        yield "malformed", lambda number: self.plan.made(number)[:-1]
        yield "trailing_bytes", lambda number: self.plan.made(number) + b"{}"
        yield "missing_field", self._of_nothing
        yield "wrong_type", self._with_a_list
        yield "duplicate_key", lambda number: self._and(number, f'"{self._first}":null')
        yield "not_finite", lambda number: self._and(number, f'"{self._writing.spare_keys[1]}":NaN')
        if other := self._in_another_case:
            yield "wrong_case", lambda number: self._and(number, f'"{other}":null')

    @cached_property
    def _writing(self) -> JsonWriting:
        return JsonWriting(self.plan.value)

    @property
    def _first(self) -> str:
        """The first key of the way to the event time, which each record has."""
        return self.plan.value.fields[self.plan.value.event_time].keys(self.plan.value.event_time)[0]

    @property
    def _in_another_case(self) -> str:
        """That key in another case, if no other field has it so; empty otherwise."""
        keys = {field.keys(name)[0] for name, field in self.plan.value.fields.items()}
        found = self._first.upper()
        return found if found.lower() == self._first and found not in keys else ""

    def _of_nothing(self, number: int) -> bytes:
        return self.plan.forms.of(number).head + self._writing.write({}, number)

    def _with_a_list(self, number: int) -> bytes:
        return self.plan.made(number, instead={self.plan.value.event_time: [number]})

    def _and(self, number: int, member: str) -> bytes:
        return self.plan.made(number)[:-1] + f",{member}}}".encode()
