"""What a contract promises of the fields that a topic's spec declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.contracts.avro import Avro, AvroSchema, Items, Named, Primitive, Union
from sluice.contracts.contract import Version
from sluice.contracts.protobuf import ProtobufSchema
from sluice.contracts.shapes import Array, Boolean, Null, Number, Schema, Shape, Text, Values
from sluice.contracts.shapes import Object as ShapeOfObject

LONG, DOUBLE, STRING, BOOLEAN, TIMESTAMP = "long", "double", "string", "boolean", "timestamp"
OBJECT, ARRAY, MAP = "object", "array", "map"
INTEGER, DECIMAL, DATE, BINARY = "integer", "decimal", "date", "binary"
"""What JSON has no types of its own for, and Avro has."""
_INSTANTS = ("timestamp-millis", "timestamp-micros")


@dataclass(frozen=True)
class Promise:
    """What a version says of one field.

    Attributes:
        types: under which types of a spec each of its values reads; empty for none.
        always: whether it is in every record, and never null.
        words: the promise in words.
    """

    types: frozenset[str]
    always: bool
    words: str


def promises(version: Version) -> Mapping[str, Promise] | None:
    """Return what a version promises of each field; None if its records are not one kind of object, or Protobuf.

    Of Protobuf see `sluice.specs.rules.protobuf_rules`.
    """
    if isinstance(version.schema, ProtobufSchema):
        return None
    if isinstance(version.schema, AvroSchema):
        top = version.schema.resolved(version.schema.top)
        if not isinstance(top, Named) or top.kind != "record":
            return None
        return {each.name: promise_of_avro(each.type, version.schema) for each in top.fields}
    (only, *others) = version.schema or (Null(),)
    if others or not isinstance(only, ShapeOfObject):
        return None
    return {name: _of_shapes(each.schema, required=each.required) for name, each in only.properties.items()}


def promise_at(version: Version, path: Sequence[str]) -> Promise | None:
    """Return what a version promises of a field inside objects; None if it does not have it.

    Args:
        version: of a contract.
        path: the keys that lead to the field, at least one.
    """
    first, *further = path
    found = (promises(version) or {}).get(first)
    if isinstance(version.schema, AvroSchema):
        return _inside_avro(version.schema, path)
    if not further or isinstance(version.schema, ProtobufSchema):
        return found if not further else None
    schema, always = version.schema, True
    for key in path:
        objects = [shape for shape in schema if isinstance(shape, ShapeOfObject)]
        inner = objects[0].properties.get(key) if objects else None
        if inner is None:
            return None
        found = _of_shapes(inner.schema, required=inner.required)
        schema, always = inner.schema, always and found.always
    return None if found is None else replace(found, always=always)


def _of_shapes(schema: Schema, *, required: bool) -> Promise:
    kinds = [_types_of(shape) for shape in schema if not isinstance(shape, Null)]
    some = frozenset.intersection(*kinds) if kinds else frozenset()
    nullable = any(isinstance(shape, Null) or (isinstance(shape, Values) and None in shape.values) for shape in schema)
    words = " or ".join(dict.fromkeys(_words_of_shape(shape) for shape in schema))
    return Promise(some, required and not nullable, words if required else f"{words}, or nothing")


_ALONE: Mapping[type, str] = {Boolean: BOOLEAN, ShapeOfObject: OBJECT, Array: ARRAY}
"""Shapes that read as one type only."""


def _types_of(shape: Shape) -> frozenset[str]:
    match shape:
        case Number():
            return frozenset({LONG, DOUBLE} if shape.whole else {DOUBLE})
        case Text():
            return frozenset({STRING, TIMESTAMP} if shape.format == "date-time" else {STRING})
        case Boolean() | ShapeOfObject() | Array():
            return frozenset({_ALONE[type(shape)]})
        case Values(values):
            kinds = [_type_of_value(value) for value in values if value is not None]
            return frozenset.intersection(*kinds) if kinds else frozenset()
        case _:
            return frozenset()


def _type_of_value(value: object) -> frozenset[str]:
    match value:
        case bool():
            return frozenset({BOOLEAN})
        case int():
            return frozenset({LONG, DOUBLE})
        case float():
            return frozenset({DOUBLE})
        case str():
            return frozenset({STRING})
        case _:
            return frozenset()


def _words_of_shape(shape: Shape) -> str:
    match shape:
        case Number():
            return "integer" if shape.whole else "number"
        case Text():
            return f"string ({shape.format})" if shape.format else "string"
        case Values():
            return "listed values"
        case _:
            return type(shape).__name__.lower()


def promise_of_avro(type_: Avro, schema: AvroSchema) -> Promise:
    """Return what a type of a schema promises of its values."""
    resolved = schema.resolved(type_)
    branches = [schema.resolved(each) for each in resolved.branches] if isinstance(resolved, Union) else [resolved]
    null = Primitive("null")
    kinds = [_types_of_avro(each) for each in branches if each != null]
    some = frozenset.intersection(*kinds) if kinds else frozenset()
    return Promise(some, null not in branches, " or ".join(_words_of_avro(each) for each in branches))


def _inside_avro(schema: AvroSchema, path: Sequence[str]) -> Promise | None:
    type_, always, found = schema.top, True, None
    for key in path:
        resolved = schema.resolved(type_)
        branches = [schema.resolved(b) for b in resolved.branches] if isinstance(resolved, Union) else [resolved]
        fields = [each for branch in branches if isinstance(branch, Named) for each in branch.fields]
        field = next((each for each in fields if each.name == key), None)
        if field is None:
            return None
        found = promise_of_avro(field.type, schema)
        type_, always = field.type, always and found.always
    return None if found is None else replace(found, always=always)


_WHOLE = frozenset({LONG, INTEGER, DOUBLE, DECIMAL})
_OF_AVRO: Mapping[tuple[str, str], frozenset[str]] = {
    ("int", ""): _WHOLE,
    ("long", ""): _WHOLE,
    ("int", "date"): frozenset({DATE}),
    **{("long", logical): frozenset({TIMESTAMP}) for logical in _INSTANTS},
    ("float", ""): frozenset({DOUBLE}),
    ("double", ""): frozenset({DOUBLE}),
    ("boolean", ""): frozenset({BOOLEAN}),
    ("bytes", ""): frozenset({BINARY}),
    ("fixed", ""): frozenset({BINARY}),
    ("string", ""): frozenset({STRING}),
    ("enum", ""): frozenset({STRING}),
    ("record", ""): frozenset({OBJECT}),
    ("array", ""): frozenset({ARRAY}),
    ("map", ""): frozenset({MAP}),
}
"""Of a type of Avro and what it stands for, the types of a spec that each of its values reads as."""


def _types_of_avro(type_: Primitive | Named | Items | Union) -> frozenset[str]:
    match type_:
        case Primitive(name, logical) | Named(kind=name, logical=logical):
            pass
        case Items(name):
            logical = ""
        case _:
            return frozenset()
    if name in ("bytes", "fixed") and logical.startswith("decimal("):
        return frozenset({DECIMAL})
    return _OF_AVRO.get((name, "" if name == "string" else logical), frozenset())


def _words_of_avro(type_: Primitive | Named | Items | Union) -> str:
    match type_:
        case Primitive(name, logical):
            return f"{name} ({logical})" if logical else name
        case Named(kind) | Items(kind):
            return kind
        case _:
            return "union"
