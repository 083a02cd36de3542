"""What a JSON Schema takes, as a union of shapes: one kind of JSON value each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Json: TypeAlias = object
"""What a JSON document holds: None, bool, int, float, str, list, dict."""


@dataclass(frozen=True)
class Null:
    """`null`."""


@dataclass(frozen=True)
class Boolean:
    """`true` and `false`."""


@dataclass(frozen=True)
class Number:
    """Numbers.

    Attributes:
        whole: whether only integers are taken; 1.0 is one.
        low: the least, and whether it is itself left out; None for no bound.
        high: the greatest, likewise.
    """

    whole: bool = False
    low: tuple[float, bool] | None = None
    high: tuple[float, bool] | None = None

    def takes(self, value: float) -> bool:
        """Whether a number is one of them."""
        if self.whole and value != int(value):
            return False
        if self.low is not None and (value < self.low[0] or (self.low[1] and value == self.low[0])):
            return False
        return self.high is None or not (value > self.high[0] or (self.high[1] and value == self.high[0]))


@dataclass(frozen=True)
class Text:
    """Strings.

    Attributes:
        shortest: characters at least.
        longest: characters at most; None for no bound.
        pattern: a regular expression that is found in it; None for any.
        format: such as `date-time`; None for any.
    """

    shortest: int = 0
    longest: int | None = None
    pattern: str | None = None
    format: str | None = None

    def takes(self, value: str) -> bool:
        """Whether a string is one of them; a format is not checked, as in most validators."""
        if len(value) < self.shortest or (self.longest is not None and len(value) > self.longest):
            return False
        return self.pattern is None or re.search(self.pattern, value) is not None


@dataclass(frozen=True)
class Array:
    """Lists.

    Attributes:
        items: what each entry is; None for anything.
        fewest: entries at least.
        most: entries at most; None for no bound.
    """

    items: Schema | None = None
    fewest: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Property:
    """A declared field of an object."""

    schema: Schema
    required: bool


@dataclass(frozen=True)
class Object:
    """Objects.

    Attributes:
        properties: declared fields by name.
        further: whether other fields are taken: True and False as the schema says, None where it says nothing. Then a
            reader ignores them, and a writer is held to write none.
    """

    properties: Mapping[str, Property] = field(default_factory=dict)
    further: bool | None = None


@dataclass(frozen=True)
class Values:
    """These values and no others."""

    values: tuple[Json, ...]


Shape: TypeAlias = Null | Boolean | Number | Text | Array | Object | Values
Schema: TypeAlias = tuple[Shape, ...]
"""The union of its shapes."""

ANYTHING: Schema = (Null(), Boolean(), Number(), Text(), Array(), Object(further=True))


def takes(schema: Schema, value: Json) -> bool:
    """Whether a schema takes a value, as a reader."""
    return any(_takes(shape, value) for shape in schema)


def _takes(shape: Shape, value: Json) -> bool:
    match shape, value:
        case (Values(values), _):
            fits = canonical(value) in map(canonical, values)
        case (Null(), None) | (Boolean(), bool()):
            fits = True
        case (Number(), int() | float()) if not isinstance(value, bool):
            fits = shape.takes(value)
        case (Text(), str()):
            fits = shape.takes(value)
        case (Array(items, fewest, most), list()):
            fits = fewest <= len(value) and (most is None or len(value) <= most)
            fits = fits and (items is None or all(takes(items, each) for each in value))
        case (Object(), dict()):
            fits = _has_what_it_takes(shape, value)
        case _:
            fits = False
    return fits


def _has_what_it_takes(shape: Object, value: Mapping[str, Json]) -> bool:
    if shape.further is False and value.keys() - shape.properties.keys():
        return False
    return all(
        takes(each.schema, value[name]) if name in value else not each.required
        for name, each in shape.properties.items()
    )


def canonical(value: Json) -> str:
    """Return a value as text that is the same for equal values: 1 and 1.0 are, 1 and true are not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value
