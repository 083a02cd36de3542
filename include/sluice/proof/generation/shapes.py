"""What a field's content may be where it is written: what the spec declares, and what the schema of the bytes holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import timedelta
from decimal import Decimal
from math import ceil, floor
from typing import Any

from sluice.specs.model.fields import FieldType, ValueField
from sluice.values.time_forms import PER_SECOND
from sluice.values.time_pattern import time_pattern

_BITS = {FieldType.LONG: 63, FieldType.INTEGER: 31}
_MICROSECOND, _DAY = timedelta(microseconds=1), timedelta(days=1)
_SECONDS = {"minute": 60, "hour": 3600, "half_hour": 3600}
_ROOM = 1 << 20
"""So many different whole numbers tell records apart."""


def unchanged(content: Any) -> object:  # noqa: ANN401 - of any type
    """Return content as it is."""
    found: object = content
    return found


@dataclass(frozen=True)
class FieldShape:
    """A field, with what its bytes can hold.

    Attributes:
        field: its declaration.
        written: makes what stands in the bytes of a content: text, a number, a boolean, bytes, a time, or a date.
        always: whether the bytes cannot leave it out, or mean a default by that.
        symbols: the texts that an enum has; None: any.
        whole: the least and the greatest whole number that the bytes hold, where they hold nothing else.
        is_single: whether a real number has 32 bits.
        digits: how many a decimal has in the bytes, and how many of them after the point; None: as declared.
        size: how many bytes a binary has; None: any number.
        tick: the shortest time between two times that the bytes tell apart.
        group: of fields of which at most one is there, with what is inside it; empty: none.
        member: which one of the group it is, or is inside of.
        parts: the fields of an object.
        entry: what an array or a map holds.
    """

    field: ValueField
    written: Callable[[Any], object] = unchanged
    always: bool = False
    symbols: tuple[str, ...] | None = None
    whole: tuple[int, int] | None = None
    is_single: bool = False
    digits: tuple[int, int] | None = None
    size: int | None = None
    tick: timedelta = _MICROSECOND
    group: str = ""
    member: str = ""
    parts: Mapping[str, FieldShape] = dataclass_field(default_factory=dict)
    entry: FieldShape | None = None

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The texts that are allowed; None: any."""
        declared = self.field.one_of
        if self.symbols is None or declared is None:
            return declared if self.symbols is None else self.symbols
        return tuple(text for text in self.symbols if text in declared)

    @property
    def scale(self) -> int:
        """How many digits of a decimal after the point lose nothing."""
        declared = self.field.scale or 0
        written = declared if self.digits is None else self.digits[1]
        return 0 if self.whole is not None else min(declared, written)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest whole number that is allowed; of a decimal, in its last digit."""
        low, high = self._widest()
        step = Decimal(10) ** self.scale if self.field.type is FieldType.DECIMAL else Decimal(1)
        if self.field.minimum is not None:
            low = max(low, ceil(Decimal(repr(self.field.minimum)) * step))
        if self.field.maximum is not None:
            high = min(high, floor(Decimal(repr(self.field.maximum)) * step))
        return low, high

    def _widest(self) -> tuple[int, int]:
        found = [self.whole] if self.whole is not None else []
        if self.field.type is FieldType.DECIMAL:
            declared = (self.field.precision or 0) - (self.field.scale or 0)
            most = declared if self.digits is None else min(declared, self.digits[0] - self.digits[1])
            end = 10 ** (max(most, 0) + self.scale) - 1
            found.append((-end, end))
        elif self.field.type is not FieldType.DOUBLE:
            bits = _BITS.get(self.field.type, 63)
            found.append((-(1 << bits), (1 << bits) - 1))
        elif self.whole is None:
            found.append((-(1 << 53), 1 << 53))
        return max(low for low, _ in found), min(high for _, high in found)

    @property
    def tells_apart(self) -> bool:
        """Whether a number in it can make each record unlike the others."""
        if self.field.type is FieldType.STRING:
            return self.texts is None
        if self.field.type not in (FieldType.LONG, FieldType.INTEGER):
            return False
        low, high = self.range
        return high - low >= _ROOM


def tick_of(declared: ValueField) -> timedelta:
    """Return the shortest time that two written times can be apart: a time in ISO 8601 is written in milliseconds."""
    if declared.epoch is not None:
        return timedelta(seconds=1) / PER_SECOND[declared.epoch]
    if declared.format is None:
        return timedelta(milliseconds=1) if declared.type is FieldType.TIMESTAMP else _DAY
    form = time_pattern(declared.format)
    if "fraction" in form.parts:
        digits = min(6, len(next(part for part in form.output if part.startswith("S"))))
        return timedelta(microseconds=10 ** (6 - digits))
    if "second" in form.parts:
        return timedelta(seconds=1)
    return min((timedelta(seconds=_SECONDS[part]) for part in form.parts if part in _SECONDS), default=_DAY)
