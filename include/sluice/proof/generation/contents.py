"""The content of a record with a number: values that keep every rule of their fields, in the places of their paths."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Context, Decimal
from math import isfinite

from sluice.proof.generation.made import UnmadeError
from sluice.proof.generation.places import DECLARE, in_one_place
from sluice.proof.generation.shapes import FieldShape
from sluice.specs.model.fields import FieldType
from sluice.values.paths import put_at

VALUES = 5
"""How many texts a field has that says nothing else: few, so that records have keys in common."""
_RANGE, _ENTRIES, _ABSENT_OF = 100, 3, 4
_EXACT = Context(prec=100)
_NUMBERS = (FieldType.LONG, FieldType.INTEGER, FieldType.DOUBLE, FieldType.DECIMAL)


@dataclass(frozen=True)
class RecordMoment:
    """Which record it is, and when.

    Attributes:
        number: of the record, from 0.
        event: when it happened (UTC).
        arrival: when it became known (UTC).
    """

    number: int
    event: datetime
    arrival: datetime


class RecordContents:
    """Makes what records hold.

    Args:
        shapes: of the declared fields, by name; without those that the bytes do not have.
        event_time: the name of the field that says when it happened.
        arrival_time: the name of the field that says when it became known, or another word.
        left_out: fields that are in no record, such as a heartbeat's.
        identities: names of fields that hold the record's number, in other topics too.
    """

    def __init__(
        self,
        shapes: Mapping[str, FieldShape],
        event_time: str,
        arrival_time: str,
        *,
        left_out: frozenset[str] = frozenset(),
        identities: frozenset[str] = frozenset(),
    ) -> None:
        self.shapes = in_one_place({name: shape for name, shape in shapes.items() if name not in left_out})
        self._event_time, self._times = event_time, frozenset({event_time, arrival_time})
        self._identities = identities

    def tree(self, moment: RecordMoment, *, instead: Mapping[str, object] | None = None) -> dict[str, object]:
        """Return what the bytes of a record hold, by the keys in them.

        Args:
            moment: which record it is, and when.
            instead: what declared fields hold instead, as it is written; None: nothing at all.
        """
        return self._object(self.shapes, moment, "", instead=instead or {})

    def _object(
        self,
        shapes: Mapping[str, FieldShape],
        moment: RecordMoment,
        inside: str,
        *,
        instead: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        found: dict[str, object] = {}
        chosen = _chosen(shapes, moment.number, self._times if not inside else frozenset())
        # From the outside in, so that a path leads into what an object around it has made.
        for place, (name, shape) in sorted(
            enumerate(shapes.items()), key=lambda each: len(each[1][1].field.keys(each[1][0]))
        ):
            keys = shape.field.keys(name)
            if instead is not None and name in instead:
                if instead[name] is not None:
                    put_at(found, keys, instead[name])
                continue
            if shape.group and chosen[shape.group] != shape.member:
                continue
            own = not inside and name in self._times
            if shape.field.required or shape.always or own or (moment.number + place) % _ABSENT_OF:
                put_at(found, keys, self._part(name, shape, moment, inside))
        return found

    def _part(self, name: str, shape: FieldShape, moment: RecordMoment, inside: str) -> object:
        field, number = shape.field, moment.number
        count = number % _ENTRIES
        if field.type is FieldType.OBJECT:
            return self._object(in_one_place(shape.parts), moment, f"{inside}{name}.")
        if shape.entry is not None:
            entries = [
                self._part(name, shape.entry, replace(moment, number=number + n), f"{inside}{name}[]")
                for n in range(count)
            ]
            return entries if field.type is FieldType.ARRAY else {f"key-{n}": each for n, each in enumerate(entries)}
        identifies = not inside and name in self._identities
        is_event = not inside and name == self._event_time
        at = moment.event if is_event else moment.arrival
        try:
            return shape.written(_content(name, shape, number, at, identifies=identifies))
        except UnmadeError as error:
            raise UnmadeError(error.reason, error.fix, f"{inside}{name}") from None


def _chosen(shapes: Mapping[str, FieldShape], number: int, needed: frozenset[str]) -> dict[str, str]:
    """Return of each group of fields the one that is in a record."""
    groups: dict[str, dict[str, bool]] = defaultdict(dict)
    for name, shape in shapes.items():
        if shape.group:
            members = groups[shape.group]
            members[shape.member] = members.get(shape.member, False) or shape.field.required or name in needed
    chosen = {}
    for group, members in groups.items():
        required = [member for member, is_needed in members.items() if is_needed]
        if len(required) > 1:
            raise UnmadeError(
                f"has {required[0]} and {required[1]} required, of which a message has only one",
                "make one of them optional.",
            )
        of = required or list(members)
        chosen[group] = of[number % len(of)]
    return chosen


def _content(name: str, shape: FieldShape, number: int, at: datetime, *, identifies: bool) -> object:
    if shape.field.type in _NUMBERS:
        return _number(shape, number, identifies=identifies)
    match shape.field.type:
        case FieldType.STRING:
            return _text(name, shape, number, identifies=identifies)
        case FieldType.BOOLEAN:
            return number % 2 == 0
        case FieldType.TIMESTAMP:
            return at
        case FieldType.DATE:
            return at.date()
        case _:
            return _binary(f"{name}-{number % VALUES}".encode(), shape.size)


def _text(name: str, shape: FieldShape, number: int, *, identifies: bool) -> str:
    texts = shape.texts
    if texts is None:
        return f"{name}-{number if identifies else number % VALUES}"
    if not texts:
        raise UnmadeError("has no text that is allowed", DECLARE)
    return texts[number % (len(texts) if identifies else min(VALUES, len(texts)))]


def _binary(content: bytes, size: int | None) -> bytes:
    return content if size is None else (content * (size // len(content) + 1))[:size]


def _number(shape: FieldShape, number: int, *, identifies: bool) -> object:
    if shape.field.type is FieldType.DOUBLE and shape.whole is None:
        return _real(shape, number)
    low, high = shape.range
    if low > high:
        raise UnmadeError("has no number that is allowed", DECLARE)
    begin = _begin(low, high)
    room = high - begin + 1
    found = begin + number % (room if identifies else min(_RANGE, room))
    if shape.field.type is not FieldType.DECIMAL:
        return found
    # Whole numbers of a decimal go up by a part that its digits show: 0.00, 0.37, 0.74 ...
    found = found if identifies else begin + number % _RANGE * 37 % room
    return Decimal(found).scaleb(-shape.scale, _EXACT)


def _begin(low: int, high: int) -> int:
    """Return the first number: the least that is not negative, or one near the greatest if none is."""
    return max(low, 0) if high >= 0 else max(low, high - _RANGE + 1)


def _real(shape: FieldShape, number: int) -> float:
    low = shape.field.minimum
    high = shape.field.maximum
    start = low if low is not None else min(0.0, high or 0.0)
    end = high if high is not None else start + _RANGE
    part = number % _RANGE
    tries = (start + part / 2, start + (end - start) * part / _RANGE, (start + end) / 2, start, end)
    for found in (_single(each) if shape.is_single else each for each in tries):
        if isfinite(found) and (low is None or found >= low) and (high is None or found <= high):
            return found
    raise UnmadeError("has no number that is allowed", DECLARE)


def _single(number: float) -> float:
    """Return the nearest number of 32 bits."""
    try:
        (found,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return float("inf")
    return float(found)
