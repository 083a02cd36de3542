"""Records as lines that a pattern matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property

from sluice.proof.generation.json_values import text_form
from sluice.proof.generation.line_parts import (
    LineGroup,
    LinePart,
    OneCharacter,
    RepeatedPart,
    avoidable,
    count_of,
    line_of,
    parts_of,
    text_of,
)
from sluice.proof.generation.line_values import line_text
from sluice.proof.generation.made import UnmadeError
from sluice.proof.generation.shapes import FieldShape, tick_of
from sluice.proof.generation.writing import Tree
from sluice.specs.model.fields import FieldType, ValueField
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_time import write_time
from sluice.values.line_pattern import line_pattern

_MOST_TEXTS, _ENOUGH = 1_000, 1 << 20
_DIGITS, _PLACES = 20, 7
_FIX = "prove a pipeline over another topic, or let the topic's `pattern` match what its fields hold."


@dataclass(frozen=True)
class PatternWriting:
    """Writes lines that match a pattern.

    Attributes:
        value: the declaration.
    """

    value: TopicValue

    @cached_property
    def _parts(self) -> LineGroup:
        return parts_of(str(self.value.pattern))

    @cached_property
    def shapes(self) -> Mapping[str, FieldShape]:
        """See `ValueWriting`."""
        return {name: self._shape(name, field) for name, field in self.value.fields.items()}

    @property
    def takes_marks(self) -> bool:
        """See `ValueWriting`."""
        return False

    def write(self, tree: Tree, mark: int | None = None) -> bytes:
        """See `ValueWriting`."""
        _ = mark
        texts = {name: str(text) for name, text in tree.items()}
        line = line_of(self._parts, texts)
        found = line_pattern(str(self.value.pattern)).read(line)
        read = {name: text for name, text in (found or {}).items() if name in self.value.fields}
        if found is None or read != texts:
            raise UnmadeError(f"no line was found that its pattern reads as {texts}; tried {line!r}", _FIX)
        return line.encode()

    def _shape(self, name: str, field: ValueField) -> FieldShape:
        group = _find(self._parts, name)
        if group is None:  # the declaration is refused before
            raise UnmadeError(f"its pattern has no group {name}", _FIX)
        text = _GroupTexts(name, field, group)
        shape = FieldShape(
            field,
            written=text.of,
            always=not avoidable(self._parts, name),
            tick=tick_of(field) if field.type is FieldType.TIMESTAMP else FieldShape.tick,
        )
        return shape if field.type is not FieldType.STRING else replace(shape, symbols=text.symbols)


@dataclass(frozen=True)
class _GroupTexts:
    """The texts that a field has in a line."""

    name: str
    field: ValueField
    group: LineGroup

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return line_pattern(f"(?<whole_group_>{self.group.text})").compiled

    @cached_property
    def symbols(self) -> tuple[str, ...] | None:
        """The texts of a string; None: any number of them, of which `of` makes each."""
        if self.field.one_of is not None:
            return tuple(text for text in self.field.one_of if self._compiled.fullmatch(text))
        count = count_of(self.group)
        if self._takes_own or count >= _ENOUGH:
            return None
        texts = (text_of(self.group, number) for number in range(min(count, _MOST_TEXTS)))
        return tuple(text for text in texts if self._compiled.fullmatch(text))

    @cached_property
    def _takes_own(self) -> bool:
        return all(self._compiled.fullmatch(f"{self.name}-{number}") for number in (0, 9, 10, 12_345_678))

    def of(self, content: object) -> str:
        """Return a text of a content that the group matches."""
        for text in self._forms(content):
            if text and self._compiled.fullmatch(text):
                return text
        shown = f"is {content!r}, and the group of the pattern matches no text of it"
        raise UnmadeError(shown, _FIX)

    def _forms(self, content: object) -> Iterator[str]:
        """Yield texts that mean a content."""
        match content:
            case bool():
                yield line_text(content)
            case datetime():
                yield from self._times(content)
            case int() | Decimal():
                plain = line_text(content)
                yield plain
                yield from (plain.zfill(digits) for digits in range(len(plain) + 1, _DIGITS))
                yield from (f"{plain}.{'0' * places}" for places in range(1, _PLACES) if self.field.type in _FRACTIONS)
            case float():
                yield line_text(content)
                exact = (f"{content:.{places}f}" for places in range(_PLACES))
                yield from (text for text in exact if float(text) == content)
            case str():
                yield content
                number = content.rpartition("-")[2]
                if self.field.one_of is None and self.symbols is None and number.isdecimal():
                    yield text_of(self.group, int(number))
            case _:
                yield str(text_form(self.field)(content))

    def _times(self, at: datetime) -> Iterator[str]:
        text = str(write_time(at, self.field))
        yield text
        if self.field.epoch is None and self.field.format is None:
            stem = at.strftime("%Y-%m-%dT%H:%M:%S")
            part = f"{at.microsecond:06}"
            yield from (f"{stem}.{part[:digits]}Z" for digits in (3, 6) if int(part[digits:] or 0) == 0)
            yield from (f"{each[:-1]}+00:00" for each in (text, f"{stem}.{part[:3]}Z"))


_FRACTIONS = (FieldType.DOUBLE, FieldType.DECIMAL)


def _find(part: LinePart, name: str) -> LineGroup | None:
    match part:
        case OneCharacter():
            return None
        case RepeatedPart(inner):
            return _find(inner, name)
        case LineGroup(own, _, ways):
            if own == name:
                return part
            inside = (_find(each, name) for way in ways for each in way)
            return next((found for found in inside if found is not None), None)
