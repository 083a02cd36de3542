"""One field of a topic's value: its type, what is declared of its values, and how they are written."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from sluice.specs.model.spec import Name, Spec
from sluice.values.paths import parse_path
from sluice.values.time_forms import EpochUnit, Zone
from sluice.values.time_pattern import time_pattern

MOST_DIGITS = 38
"""Of a decimal, in Spark."""
_MOST_LEVELS = 20
_Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class FieldType(StrEnum):
    """Types of a field; each maps to one Spark type."""

    STRING = "string"
    LONG = "long"
    INTEGER = "integer"
    DOUBLE = "double"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    BINARY = "binary"
    OBJECT = "object"
    ARRAY = "array"
    MAP = "map"


NUMBERS = frozenset({FieldType.LONG, FieldType.INTEGER, FieldType.DOUBLE, FieldType.DECIMAL})
WITH_PARTS = {FieldType.OBJECT: "fields", FieldType.ARRAY: "items", FieldType.MAP: "values"}
"""The types that have fields inside, and the key that declares them."""
_OF_TYPES = {
    "epoch": {FieldType.TIMESTAMP},
    "zone": {FieldType.TIMESTAMP},
    "format": {FieldType.TIMESTAMP, FieldType.DATE},
    "precision": {FieldType.DECIMAL},
    "scale": {FieldType.DECIMAL},
    **{key: {kind} for kind, key in WITH_PARTS.items()},
}
"""Keys that only fields of some types have."""
_UNLESS_OMITTED = ("format", "path", "precision", "scale", "fields", "items", "values")
"""Keys that are left out of what is written where they are omitted: a field means what it did before they existed."""
_READ_AS = {
    FieldType.INTEGER: FieldType.LONG,
    FieldType.DECIMAL: FieldType.DOUBLE,
    FieldType.DATE: FieldType.STRING,
    FieldType.BINARY: FieldType.STRING,
    FieldType.MAP: FieldType.OBJECT,
}
"""Types whose values are written as those of another one."""


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


class ValueField(Spec):
    """One field of a topic's value."""

    type: FieldType
    required: bool = False
    """A record without it (absent or null) is quarantined as `missing_field`."""
    minimum: float | None = None
    maximum: float | None = None
    """A number outside [minimum, maximum] is quarantined as `out_of_range`."""
    one_of: tuple[str, ...] | None = None
    """A string outside the list is quarantined as `not_allowed`."""
    epoch: EpochUnit | None = None
    """Of a time that is written as a whole number: what it counts since 1970. Omitted: the time is text in ISO 8601."""
    zone: Zone | None = None
    """Of a time whose text may name no zone: `UTC` or an offset. Omitted: such a text is `wrong_type`."""
    format: _Text | None = None
    """Of a time or date that is text of another form: letters of Java's DateTimeFormatter, `dd/MMM/yyyy:HH:mm:ss Z`."""
    path: _Text | None = None
    """Where it is inside the object, such as `$.user.id` or `$['User Name']`. Omitted: under its name."""
    precision: int | None = Field(default=None, ge=1, le=MOST_DIGITS)
    """How many digits a decimal has."""
    scale: int | None = Field(default=None, ge=0, le=MOST_DIGITS)
    """How many of the digits of a decimal are after the point. Omitted: none."""
    fields: dict[Name, ValueField] | None = Field(default=None, min_length=1)
    """Of an object: its fields."""
    items: ValueField | None = None
    """Of an array: what each entry is."""
    values: ValueField | None = None
    """Of a map: what is under each of its keys."""

    @field_validator("minimum", "maximum")
    @classmethod
    def _bounds_need_a_number(cls, bound: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("type")
        if bound is not None and kind is not None and kind not in NUMBERS:
            raise ValueError(f"only a number has a {info.field_name}; this field is a {kind}")
        return bound

    @field_validator("maximum")
    @classmethod
    def _bounds_leave_room(cls, maximum: float | None, info: ValidationInfo) -> float | None:
        minimum = info.data.get("minimum")
        if maximum is not None and minimum is not None and minimum > maximum:
            raise ValueError(f"the maximum {maximum:g} is below the minimum {minimum:g}")
        return maximum

    @field_validator("one_of")
    @classmethod
    def _list_needs_a_string(cls, one_of: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        kind = info.data.get("type")
        if one_of is not None and kind not in (None, FieldType.STRING):
            raise ValueError(f"only a string has a one_of; this field is a {kind}")
        return one_of

    @field_validator(*_OF_TYPES)
    @classmethod
    def _key_is_of_the_type(cls, said: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - of any key
        kinds, kind = _OF_TYPES[info.field_name or ""], info.data.get("type")
        if said is not None and kind is not None and kind not in kinds:
            has = f"only {' or '.join(_article(each) for each in sorted(kinds))} has {info.field_name}"
            raise ValueError(f"{has}; this field is {_article(kind)}")
        return said

    @field_validator("zone", "format")
    @classmethod
    def _form_is_said_once(cls, form: str | None, info: ValidationInfo) -> str | None:
        if form is not None and info.data.get("epoch"):  # validated before
            raise ValueError(f"a number of `epoch` has no {info.field_name}; keep one")
        return form

    @field_validator("format")
    @classmethod
    def _form_can_be_read(cls, form: str | None, info: ValidationInfo) -> str | None:
        kind, zone = info.data.get("type"), info.data.get("zone")
        if form is None or kind not in _OF_TYPES["format"]:
            return form
        pattern = time_pattern(form)
        if kind is FieldType.DATE and pattern.has_time:
            raise ValueError("a date has no time of day; declare a timestamp, or leave it out of the format")
        if pattern.has_zone and zone:
            raise ValueError("the text names its zone, and `zone` another; keep one")
        if kind is FieldType.TIMESTAMP and not pattern.has_zone and not zone:
            raise ValueError("the text names no zone; declare it beside the format, as `zone: UTC`")
        return form

    @field_validator("path")
    @classmethod
    def _path_can_be_followed(cls, path: str | None) -> str | None:
        if path is not None:
            parse_path(path)
        return path

    @field_validator("scale")
    @classmethod
    def _scale_is_within(cls, scale: int | None, info: ValidationInfo) -> int | None:
        precision = info.data.get("precision")
        if scale is not None and precision is not None and scale > precision:
            raise ValueError(f"{scale} digits after the point are more than all {precision}")
        return scale

    @field_validator("items", "values")
    @classmethod
    def _entries_have_no_path(cls, entry: ValueField | None, info: ValidationInfo) -> ValueField | None:
        if entry is not None and entry.path is not None:
            raise ValueError(f"an entry has no path; make the {info.field_name} objects, with the path in their fields")
        return entry

    @model_validator(mode="after")
    def _is_complete(self) -> ValueField:
        part = WITH_PARTS.get(self.type)
        if part is not None and getattr(self, part) is None:
            raise ValueError(f"{_article(self.type)} needs `{part}`")
        if self.type is FieldType.DECIMAL and self.precision is None:
            raise ValueError("a decimal needs `precision`: how many digits it has, such as `precision: 12, scale: 2`")
        if self.levels > _MOST_LEVELS:
            raise ValueError(f"it is nested more than {_MOST_LEVELS} deep; declare what is inside a string")
        return self

    @model_serializer(mode="wrap")
    def _as_before(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {key: said for key, said in written.items() if said is not None or key not in _UNLESS_OMITTED}

    @property
    def parts(self) -> dict[str, ValueField]:
        """The fields inside, by what is written behind its name: `.id` of an object, `[]` of an array, `{}` of a map.

        Of an array or a map it is one: what each entry is.
        """
        if self.items is not None:
            return {"[]": self.items}
        if self.values is not None:
            return {"{}": self.values}
        return {f".{name}": field for name, field in (self.fields or {}).items()}

    @property
    def levels(self) -> int:
        """How many levels of fields there are."""
        return 1 + max((part.levels for part in self.parts.values()), default=0)

    @property
    def has_form(self) -> bool:
        """Whether it, or a field inside it, says how times are written."""
        return bool(self.epoch or self.zone or self.format) or any(part.has_form for part in self.parts.values())

    @property
    def words(self) -> str:
        """The type with what is inside, as Spark writes types."""
        if self.type is FieldType.DECIMAL:
            return f"decimal({self.precision},{self.scale or 0})"
        inside = {behind.lstrip(".[]{}"): part.words for behind, part in self.parts.items()}
        if self.type is FieldType.OBJECT:
            return f"object<{','.join(f'{name}:{words}' for name, words in inside.items())}>"
        return f"{self.type}<{','.join(inside.values())}>" if inside else self.type.value

    @property
    def types_read(self) -> frozenset[str]:
        """The types whose values it reads: a number since 1970 is a whole number, a local time any text."""
        if self.epoch:
            return frozenset({FieldType.LONG})
        kind = _READ_AS.get(self.type, self.type)
        return frozenset({kind, FieldType.STRING} if self.zone or self.format else {kind})

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the keys that lead to it in a JSON object.

        Args:
            name: its own.
        """
        return (name,) if self.path is None else parse_path(self.path)
