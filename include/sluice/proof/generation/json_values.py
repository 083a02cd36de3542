"""Records as JSON objects."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

from sluice.proof.generation.shapes import FieldShape, tick_of, unchanged
from sluice.proof.generation.writing import MARK, Tree
from sluice.specs.model.fields import FieldType, ValueField
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_time import write_time
from sluice.values.time_pattern import time_pattern


@dataclass(frozen=True)
class JsonWriting:
    """Writes JSON.

    Attributes:
        value: the declaration.
    """

    value: TopicValue

    @cached_property
    def shapes(self) -> Mapping[str, FieldShape]:
        """See `ValueWriting`."""
        return {name: _shape(field) for name, field in self.value.fields.items()}

    @property
    def takes_marks(self) -> bool:
        """See `ValueWriting`."""
        return True

    @cached_property
    def spare_keys(self) -> tuple[str, str]:
        """Two keys that no field has, in any case: the first holds marks."""
        taken = {field.keys(name)[0].lower() for name, field in self.value.fields.items()}
        free = [key for key in (MARK + "_" * n for n in range(len(taken) + 2)) if key not in taken]
        return free[0], free[1]

    def write(self, tree: Tree, mark: int | None = None) -> bytes:
        """See `ValueWriting`."""
        return as_json(tree if mark is None else {**tree, self.spare_keys[0]: mark}).encode()


def text_form(field: ValueField) -> Any:  # noqa: ANN401 - a function of any content
    """Return what makes a JSON value of a content of a field."""
    match field.type:
        case FieldType.TIMESTAMP:
            return lambda at: write_time(at, field)
        case FieldType.DATE:
            return lambda day: date_text(day, field)
        case FieldType.BINARY:
            return lambda content: b64encode(content).decode()
        case _:
            return unchanged


def date_text(day: date, field: ValueField) -> str:
    """Return a date as a text of its field."""
    if field.format is None:
        return day.isoformat()
    return time_pattern(field.format).write(datetime.combine(day, time(), UTC))


def as_json(content: object) -> str:
    """Return JSON with all digits of decimals, without blanks."""
    match content:
        case Decimal():
            return f"{content:f}"
        case Mapping():
            return "{" + ",".join(f"{_text(key)}:{as_json(part)}" for key, part in content.items()) + "}"
        case list():
            return "[" + ",".join(map(as_json, content)) + "]"
        case _:
            return _text(content)


def _text(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _shape(field: ValueField) -> FieldShape:
    entry = field.items or field.values
    return FieldShape(
        field,
        written=text_form(field),
        tick=tick_of(field) if field.type is FieldType.TIMESTAMP else FieldShape.tick,
        parts={name: _shape(part) for name, part in (field.fields or {}).items()},
        entry=None if entry is None else _shape(entry),
    )
